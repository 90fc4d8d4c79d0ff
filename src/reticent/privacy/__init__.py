"""What is promised, and whether a table keeps it.

This room knows no search: a promise is a record with a counting rule, and the verifier recounts it
on a published table without a line of the engines' code.
"""
