"""Decision trees grown from counts. Knows columns and classes, nothing of privacy or of files."""
