"""Algorithm 1 of the paper, line by line: slow, O(n²) per pull, and independent of the package.

Resolved as the documentation says: terminal at community size ≤ c, S written once, stop at the
very pull, arms that never became terminal last, ties by distance from the median, then as given.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import median

from scipy.special import erfcinv


def gold(table, *, epsilon, rho, delta, span, bernoulli, strict=False, budget=math.inf):
    """Run Algorithm 1 on a reward table; return the pull order, T, S and the ranking."""
    n = len(table)
    c = n * (1 - Fraction(str(rho)))
    b = (1 + math.exp(1 / 16) + epsilon) / (1 - math.exp(1 / 16) + epsilon)
    sums, counts = [0.0] * n, [0] * n
    pulls = []
    T = 0
    S = [0] * n
    terminal = set()

    def beta(i):
        m = counts[i]
        spent = 6 * delta / (math.pi**2 * n * T**2)
        if not bernoulli:
            return span * math.sqrt(-math.log(spent) / (2 * m))
        z = float(erfcinv(spent))
        p = (sums[i] + z**2 / 2) / (m + z**2)
        return z * math.sqrt(p * (1 - p) / m)

    def mean(i):
        return sums[i] / counts[i]

    def pull(i):
        sums[i] += table[i][counts[i]]
        counts[i] += 1
        pulls.append(i)

    for i in range(n):
        pull(i)
        T += 1
    y, r = [mean(i) for i in range(n)], [beta(i) for i in range(n)]
    edges = {(i, j) for i in range(n) for j in range(i) if abs(y[i] - y[j]) <= b * (r[i] + r[j])}

    def communities():
        left, found = set(range(n)), []
        while left:
            stack = [left.pop()]
            members = set(stack)
            while stack:
                i = stack.pop()
                for j in list(left):
                    if (max(i, j), min(i, j)) in edges:
                        left.discard(j)
                        members.add(j)
                        stack.append(j)
            found.append(members)
        return found

    while len(terminal) < c and budget > T:
        for i in range(n):
            if i in terminal:
                continue
            pull(i)
            T += 1
            y, r = [mean(k) for k in range(n)], [beta(k) for k in range(n)]
            edges -= {(k, j) for k, j in edges if abs(y[k] - y[j]) > b * (r[k] + r[j])}
            for members in communities():
                if len(members) < c if strict else len(members) <= c:
                    for k in members - terminal:
                        S[k] = T
                    terminal |= members
            if len(terminal) >= c or budget <= T:
                break
    centre = median(y)
    ranking = sorted(
        range(n), key=lambda i: (S[i] if i in terminal else math.inf, -abs(y[i] - centre), i)
    )
    return pulls, T, S, ranking
