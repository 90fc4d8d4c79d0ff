"""Which entries of a table to hide, so that nothing gives back those that were asked for."""
