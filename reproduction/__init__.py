"""The paper's evaluation: `python -m reproduction` runs it, draws it and judges its claims.

It is not part of the installed package, and uses only public names of oddarm.
"""
