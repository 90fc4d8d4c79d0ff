"""Reports as pages for people: one self-contained HTML file each.

There is one a side of a release folder, and one for a sweep.

Knows releases and what may be told about them; asks `report` for facts and draws its own charts.
Must not know files, engines or the network: a page needs nothing but itself.
"""

from reticent.pages.charts import standalone
from reticent.pages.page import private, public
from reticent.pages.swept import plot, sweep

__all__ = ["plot", "private", "public", "standalone", "sweep"]
