"""The same tree where every table stays at its site.

    layout                     which tables stand where, and how sums get from site to site
    words                      what sites tell each other, as bytes
    relay  growing             first sums, and splits: the loops of one site with messages between
    flow  descending           a tree from the first word to the last, and records sent down it
    process  experiment        one site as a process, and all sites in one
    audit                      does what was said follow from the model and the sums?

Knows how the loops of `reticent.jointree` work, and what `reticent.parties` says of owners who
talk. Of another site's tables it knows what the schema says: names, joins and the class.
"""
