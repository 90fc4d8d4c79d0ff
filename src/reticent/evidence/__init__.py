"""Was it worth it? Classifiers over coded columns, for every system."""
