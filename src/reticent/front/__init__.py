"""The command line: parse, call one function of `reticent.tables.flow`, format one report."""

import os


def main() -> None:
    """Run the command line; an interrupt while it still loads ends it without a word."""
    try:
        from reticent.front.cli import main as run

        run()
    except KeyboardInterrupt:
        os._exit(130)
