"""Engine 2: everything is open at first, and what threatens somebody is taken away.

`moles` finds the smallest sets of items that single people out, `engine` breaks them for what they
cost, and `itemsets` does so where frequent sets of items are what a release should keep: `nuggets`
counts these, in `diagrams`.
"""
