"""`python -m edgeworth` is the `edgeworth` command."""

from edgeworth.cli import main

if __name__ == "__main__":  # processes that commands start import this module again
    main()
