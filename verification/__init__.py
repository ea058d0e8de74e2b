"""Statistical verification: seeded checks of error rates, with tolerances from binomial intervals.

Run all with `make verify`, or only those that you name with `python -m verification NAME …`.
"""
