"""Engine 2: everything is open at first, and what threatens somebody is taken away.

`moles` finds the smallest sets of items that single people out.
"""
