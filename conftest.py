"""What all tests share."""

import re

import pytest
from hypothesis import settings

pytest_plugins = ["places_at_hand"]

settings.register_profile("patient", deadline=None)  # a busy machine is no fault
settings.load_profile("patient")

_SETS = re.compile("transactions|basket|coheren|moles|nuggets|itemsets|diagrams|removal|/suppress/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests of item sets first, all of them, and those of tables after them.

    Two workers begin with an eighth of all tests each: so one compiles the loops of item sets while
    the other compiles those of tables. In the order of their names, both compiled both.
    """
    items.sort(key=lambda item: _SETS.search(item.nodeid) is None)
