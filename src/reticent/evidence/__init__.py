"""Was it worth it, and was it safe? Knows tables, promises and trees; no engine ever asks here."""
