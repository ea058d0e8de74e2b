"""Odd-arm identification, written out plainly: no numpy, sums over arms one by one."""

import math


def binomial(s, m):
    """The log of the mean, and of the largest, of p^s (1-p)^(m-s)."""
    averaged = math.lgamma(s + 1) + math.lgamma(m - s + 1) - math.lgamma(m + 2)
    largest = sum(x * math.log(x / m) for x in (s, m - s) if x > 0)
    return averaged, largest


def likelihoods(sums, counts):
    """For each arm as the odd one, the averaged and the largest log likelihood."""
    found = []
    for i in range(len(sums)):
        own = binomial(sums[i], counts[i])
        rest = binomial(sum(sums) - sums[i], sum(counts) - counts[i])
        found.append((own[0] + rest[0], own[1] + rest[1]))
    return found


def divergence(p, q):
    """KL of Bernoulli rewards."""
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def best_share(p, q, n):
    """The share of the odd arm, of 2 %, 3 %, …, that gives most information."""
    best = None
    for step in range(97):
        share = 0.02 + 0.01 * step
        rest = (1 - share) * (n - 2) / (n - 1)
        common = (share * p + rest * q) / (share + rest)
        value = share * divergence(p, common) + rest * divergence(q, common)
        if best is None or value > best[0] + 1e-15:
            best = value, share
    return best[1]


def odd(table, delta, budget):
    """Pull until one arm is clearly the odd one; return the pulls and the arm."""
    n = len(table)
    sums, counts, pulls = [0.0] * n, [0] * n, []

    def pull(i):
        sums[i] += table[i][counts[i]]
        counts[i] += 1
        pulls.append(i)

    for i in range(n):
        pull(i)
    while True:
        found = likelihoods(sums, counts)
        for i in range(n):
            rival = max(found[j][1] for j in range(n) if j != i)
            if found[i][0] - rival >= math.log((n - 1) / delta):
                return pulls, i
        if len(pulls) >= budget:
            return pulls, None
        if min(counts) < math.sqrt(len(pulls) / n) - n / 2:
            pull(counts.index(min(counts)))
            continue
        lead = max(range(n), key=lambda i: found[i][1])
        pooled = (sum(sums) - sums[lead]) / (sum(counts) - counts[lead])
        share = best_share(sums[lead] / counts[lead], pooled, n)
        wanted = [(1 - share) / (n - 1)] * n
        wanted[lead] = share
        behind = [w * (len(pulls) + 1) - m for w, m in zip(wanted, counts, strict=True)]
        pull(max(range(n), key=lambda i: behind[i]))
