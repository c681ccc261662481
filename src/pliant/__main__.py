"""`python -m pliant` is the command line."""

from pliant.cli import main

main()
