"""Files in and out: CSV, Parquet, Arrow and baskets; outputs that appear whole or not at all.

A new file format belongs here. Knows nothing of privacy.
"""
