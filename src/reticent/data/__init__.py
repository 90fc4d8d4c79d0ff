"""What the data are, in memory: columns as codes, taxonomies, baskets. Knows no files, no privacy.

Cells become small integers at the door and turn back into text on the way out.
"""
