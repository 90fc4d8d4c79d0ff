"""Share data about people without sharing what must stay private."""

__version__ = "0.1.0"
