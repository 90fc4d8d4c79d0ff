"""Reports as pages for people: one self-contained HTML file each side of a release folder.

Knows releases and what may be told about them; asks `report` for facts and draws its own charts.
Must not know files, engines or the network: a page needs nothing but itself.
"""

from reticent.pages.page import private, public

__all__ = ["private", "public"]
