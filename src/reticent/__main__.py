"""``python -m reticent``: the command line, where its script is not on the path."""

from reticent.front import main

if __name__ == "__main__":
    main()
