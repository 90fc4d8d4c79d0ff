"""Sets of items that somebody may know: the compiled loops behind coherence.

They know transactions as rows of numbers, and neither promises nor names. Nothing here is shared
with the search for coherent releases, whose results they judge.
"""
