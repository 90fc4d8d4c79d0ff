"""Files in and out: CSV, Parquet, Arrow, workbooks, baskets; outputs that appear whole or not.

A new file format belongs here. Knows nothing of privacy.
"""
