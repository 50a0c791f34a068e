"""`python -m edgeworth` is the `edgeworth` command."""

from edgeworth.cli import main

main()
