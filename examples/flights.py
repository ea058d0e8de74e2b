"""Which routes from New York are late far more often than all others?

The file of 326,408 flights comes with oddarm. Rows are read in a random order per route, a few at
a time, until the answer is sure.
"""

import oddarm


def main() -> None:
    """Search the flights and print the answer."""
    flights = oddarm.datasets.bundled("flights")
    with oddarm.open_table(flights.path, arm="route", reward="late", rows="all") as source:
        result = oddarm.find(source)
    result = result.with_nouns("routes", "flights")
    print(result.summary)
    print()
    print(result.table(6))


if __name__ == "__main__":
    main()
