"""Which items of baskets to suppress."""
