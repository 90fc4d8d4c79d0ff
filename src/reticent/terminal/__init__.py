"""What all commands share: options, failing well, progress, signals, tables as text.

Knows no system; each brings its own commands.
"""
