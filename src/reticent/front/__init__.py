"""The command line: parse, call one function of `reticent.pipeline`, format one report."""
