"""The only room where owners talk. Knows owners and messages, nothing of policies or of tables."""
