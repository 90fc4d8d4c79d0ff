"""One decision tree over tables that join, learnt from counts: the join is never built."""
