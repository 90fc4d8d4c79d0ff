"""What the data are: columns, their types, their taxonomies, their files.

This room knows nothing of privacy. It reads a table into small integers at the door and writes one
back; what the integers are for is decided elsewhere.
"""
