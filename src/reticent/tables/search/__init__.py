"""How a cut is found: greedily, thoroughly, with rare records left out, for many thresholds."""
