"""Was it worth it? Was it safe? A released table beside its original."""
