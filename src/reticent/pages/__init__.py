"""What every page is made with: page.py fills a template, charts.py draws.

Knows promises and what may be told about them; must not know systems, engines or the network: a
page needs nothing but itself.
"""
