"""The measure of a promise about earlier releases, whose join is never made."""
