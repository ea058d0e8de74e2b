"""`python -m oddarm` is the `oddarm` command."""

from oddarm.cli import main

main()
