"""Several owners, one release: columns about the same people that lie with different owners."""
