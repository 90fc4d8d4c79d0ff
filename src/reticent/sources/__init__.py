"""Where a table stands, and who reads or counts it: memory, DuckDB, a database, Spark.

A new engine beyond memory belongs here. Knows nothing of privacy.
"""
