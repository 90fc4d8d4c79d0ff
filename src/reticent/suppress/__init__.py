"""Engine 2: everything is open at first, and what threatens somebody is taken away.

`engine` breaks threats for what they cost; it knows them as sets of things by number (`sets`), and
two families bring theirs.

Baskets: `moles` finds the smallest sets of items that single people out, `coherent` chooses which
items go, and `itemsets` does so where frequent sets of items are what a release should keep:
`nuggets` counts these, in `diagrams`.

Entries: `rules` finds the rules that give back what somebody asked to hide, and `entries` chooses
what else to hide, from what `steps` and `graph` offer.
"""
