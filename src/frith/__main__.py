"""`python -m frith` is the command line."""

from frith.cli import main

main()
