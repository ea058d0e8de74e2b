"""The rivals, written out plainly from their definitions: no numpy, no sharing, no cleverness.

Each function takes a table of rewards (table[arm][k] is the k-th reward of an arm) and a budget,
and returns the order of pulls and the answer (None if the budget ended first).
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import median, pstdev

import numpy as np
from scipy.special import erfcinv


class Seen:
    """Rewards drawn so far."""

    def __init__(self, table, bernoulli, delta):
        self.table, self.bernoulli, self.delta = table, bernoulli, delta
        self.n = len(table)
        self.sums, self.counts, self.pulls = [0.0] * self.n, [0] * self.n, []
        self.running = None

    def pull(self, i):
        """Draw the next reward of an arm."""
        self.sums[i] += self.table[i][self.counts[i]]
        self.counts[i] += 1
        self.pulls.append(i)

    def means(self):
        """Sample means."""
        return [s / m for s, m in zip(self.sums, self.counts, strict=True)]

    def gold_ends(self):
        """Intervals with the radii of the GOLD paper, cut to [0, 1]."""
        spent = 6 * self.delta / (math.pi**2 * self.n * len(self.pulls) ** 2)
        ends = []
        for s, m in zip(self.sums, self.counts, strict=True):
            if self.bernoulli:
                z = float(erfcinv(spent))
                p = (s + z * z / 2) / (m + z * z)
                r = z * math.sqrt(p * (1 - p) / m)
            else:
                r = math.sqrt(math.log(1 / spent) / (2 * m))
            ends.append((max(s / m - r, 0.0), min(s / m + r, 1.0)))
        return ends

    def maxgap_ends(self):
        """Intervals with the radius of MaxGap for rewards in [0, 1], cut to [0, 1]."""
        ends = []
        for s, m in zip(self.sums, self.counts, strict=True):
            r = 1.5 * 0.5 * math.sqrt(2 * math.log(math.log(25 * m / self.delta)) / m)
            ends.append((max(s / m - r, 0.0), min(s / m + r, 1.0)))
        return ends

    def roai_ends(self):
        """Intervals with the radius of ROAI, each intersected with all before it."""
        if self.running is None:
            self.running, since = [(0.0, 1.0)] * self.n, range(self.n)
        else:
            since = self.pulls[-1:]
        for i in since:
            s, m = self.sums[i], self.counts[i]
            r = 0.5 * math.sqrt(2 * math.log(math.pi**2 * self.n / (3 * self.delta) * m * m) / m)
            low, high = max(s / m - r, 0.0), min(s / m + r, 1.0)
            both = max(low, self.running[i][0]), min(high, self.running[i][1])
            self.running[i] = both if both[0] <= both[1] else (low, high)
        return self.running

    def sigma(self, k):
        """θ̂, its radius, and the arms' radii under the k-sigma paper's formulas."""
        n, t = self.n, len(self.pulls)
        spent = 6 * self.delta / (math.pi**2 * (n + 1) * t * t)
        y = self.means()
        theta = sum(y) / n + k * pstdev(y)
        if not self.bernoulli:
            radii = [math.sqrt(math.log(1 / spent) / (2 * m)) for m in self.counts]
            h = n / sum(1 / m for m in self.counts)
            root = (1 + k * math.sqrt(n - 1)) / math.sqrt(n)
            root += k / math.sqrt(2 * math.log(math.pi**2 * n**3 / (6 * self.delta)))
            return theta, root * math.sqrt(math.log(1 / spent) / (2 * h)), radii
        z = float(erfcinv(spent / 2))
        p = [(s + z * z / 2) / (m + z * z) for s, m in zip(self.sums, self.counts, strict=True)]
        radii = [z * math.sqrt(q * (1 - q) / m) for q, m in zip(p, self.counts, strict=True)]
        centre, spread = sum(p) / n, pstdev(p)
        total = 0.0
        for q, r in zip(p, radii, strict=True):
            slope = (k * (q - centre) / spread if spread else 0.0) + 1
            total += (slope * r) ** 2
        return theta, math.sqrt(total) / n, radii

    def active(self, k):
        """Which intervals overlap that of the threshold."""
        theta, width, radii = self.sigma(k)
        return [
            y - r <= theta + width and y + r >= theta - width
            for y, r in zip(self.means(), radii, strict=True)
        ]

    def above(self, k):
        """The arms above the estimated threshold."""
        theta = self.sigma(k)[0]
        return {i for i, y in enumerate(self.means()) if y > theta}


def rr(table, bernoulli, delta, k, budget):
    """Cyclic pulls until no arm is active."""
    seen = Seen(table, bernoulli, delta)
    while len(seen.pulls) < budget:
        seen.pull(len(seen.pulls) % seen.n)
        if len(seen.pulls) >= seen.n and not any(seen.active(k)):
            return seen.pulls, seen.above(k)
    return seen.pulls, None


def wrr(table, bernoulli, delta, k, budget):
    """Visits in turn; an active arm below its quota is pulled again."""
    seen = Seen(table, bernoulli, delta)
    n = seen.n
    for i in range(n):
        seen.pull(i)
    if not any(seen.active(k)):
        return seen.pulls, seen.above(k)
    root = (1 + k * math.sqrt(n - 1)) / math.sqrt(n)
    root += k / math.sqrt(2 * math.log(math.pi**2 * n**3 / (6 * delta)))
    w = ((n - 1) ** 2 / root**2) ** (1 / 3)
    quota = [0.0] * n
    while True:
        for i in range(n):
            quota[i] += w
            first = True
            while first or (seen.active(k)[i] and seen.counts[i] < quota[i]):
                first = False
                if len(seen.pulls) >= budget:
                    return seen.pulls, None
                seen.pull(i)
                if not any(seen.active(k)):
                    return seen.pulls, seen.above(k)


def nrr(table, bernoulli, delta, k, budget):
    """Cyclic pulls until the estimate has been the same for 1/δ pulls."""
    seen = Seen(table, bernoulli, delta)
    last, same = None, 0
    while len(seen.pulls) < budget:
        seen.pull(len(seen.pulls) % seen.n)
        if len(seen.pulls) < seen.n:
            continue
        now = seen.above(k)
        same = same + 1 if now == last else 0
        last = now
        if same >= 1 / delta:
            return seen.pulls, now
    return seen.pulls, None


def ib(table, bernoulli, delta, k, budget):
    """CLUCB for the best arm of those left, again and again."""
    seen = Seen(table, bernoulli, delta)
    n = seen.n
    for i in range(n):
        seen.pull(i)
    left, answer = list(range(n)), set()
    while True:
        y = seen.means()
        level = 2 * math.log(4 * n * len(seen.pulls) ** 3 / delta)
        rad = [math.sqrt(level / m) for m in seen.counts]
        best = max(left, key=lambda i: y[i])
        others = [i for i in left if i != best]
        rival = max(others, key=lambda i: y[i] + rad[i]) if others else best
        if not others or y[best] - rad[best] >= y[rival] + rad[rival]:
            if best not in seen.above(k):
                return seen.pulls, answer
            answer.add(best)
            left.remove(best)
            if not left:
                return seen.pulls, answer
            continue
        if len(seen.pulls) >= budget:
            return seen.pulls, None
        seen.pull(best if rad[best] >= rad[rival] else rival)


def robust_ends(ends, k):
    """Intervals of the median, the distances, the MAD and the threshold."""
    low, high = [e[0] for e in ends], [e[1] for e in ends]
    med = (median(low), median(high))
    near = [max(a - med[1], med[0] - b, 0.0) for a, b in ends]
    far = [max(b - med[0], med[1] - a) for a, b in ends]
    mad = (median(near), median(far))
    scale = k * 1.4826
    return med, near, far, mad, (med[0] + scale * mad[0], med[1] + scale * mad[1])


def first_roai(table, bernoulli, delta, k, budget, *, lucb):
    """The first edition: radii of the GOLD paper, and one or two arms in a round of LUCB."""
    seen = Seen(table, bernoulli, delta)
    n = seen.n
    for i in range(n):
        seen.pull(i)
    queue = []
    while True:
        ends = seen.gold_ends()
        med, near, far, mad, theta = robust_ends(ends, k)
        open_ = [i for i, (a, b) in enumerate(ends) if a <= theta[1] and b >= theta[0]]
        if not open_:
            return seen.pulls, {i for i, (a, _) in enumerate(ends) if a > theta[1]}
        if len(seen.pulls) >= budget:
            return seen.pulls, None
        if not queue:
            m_set = [i for i, (a, b) in enumerate(ends) if a <= med[1] and b >= med[0]]
            d_set = [i for i in range(n) if near[i] <= mad[1] and far[i] >= mad[0]]
            if not lucb:
                queue = sorted({*open_, *m_set, *d_set})
            else:
                y = seen.means()
                centre = median(y)
                estimate = centre + k * 1.4826 * median([abs(v - centre) for v in y])
                width = [b - a for a, b in ends]
                gain = (theta[1] - theta[0]) / sum(seen.counts[i] for i in {*m_set, *d_set})
                critical = []
                upper = [i for i in open_ if y[i] > estimate]
                lower = [i for i in open_ if y[i] <= estimate]
                if upper:
                    critical.append(min(upper, key=lambda i: ends[i][0]))
                if lower:
                    critical.append(max(lower, key=lambda i: ends[i][1]))
                chosen = {i for i in critical if width[i] / seen.counts[i] >= gain}
                if not chosen:
                    chosen = {max(s, key=lambda i: width[i]) for s in (m_set, d_set)}
                queue = sorted(chosen)
        seen.pull(queue.pop(0))


def mixed(word):
    """Return SplitMix64's finaliser of a word."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
    return word ^ (word >> 31)


def choice(seed, pulls, options, purpose=1):
    """Return one of some arms, by the seed and the pulls so far."""
    words = np.random.SeedSequence([seed, purpose]).generate_state(2, np.uint64).tolist()
    start, increment = (mixed((word + 0x9E3779B97F4A7C15) % 2**64) for word in words)
    share = (mixed((start + (pulls + 1) * (increment | 1)) % 2**64) >> 11) * 2.0**-53
    return options[int(share * len(options))]


def lucb_arms(seen, ends, k):
    """The arms beside the five borders of ROAI-LUCB that matter, with repeats."""
    n, y = seen.n, seen.means()
    med, near, far, mad, theta = robust_ends(ends, k)
    closest = [max(a - med[1], med[0] - b) for a, b in ends]
    middle = [(c + f) / 2 for c, f in zip(closest, far, strict=True)]
    centre = (theta[0] + theta[1]) / 2
    borders = [({i for i in range(n) if y[i] < centre}, ends, ends, theta)]
    distances = list(zip(closest, far, strict=True))
    clipped = list(zip(near, far, strict=True))
    for values, spans, known, target in ((y, ends, ends, med), (middle, distances, clipped, mad)):
        order = sorted(range(n), key=lambda i, values=values: values[i])
        halves = (set(order[:size]) for size in ((n - 1) // 2, n // 2 + 1))
        borders += [(below, spans, known, target) for below in halves]
    named = []
    for below, spans, known, target in borders:
        pair = []
        if below:
            pair.append(max(sorted(below), key=lambda i, spans=spans: spans[i][1]))
        if len(below) < n:
            above = [i for i in range(n) if i not in below]
            pair.append(min(above, key=lambda i, spans=spans: spans[i][0]))
        named += [i for i in pair if known[i][0] <= target[1] and known[i][1] >= target[0]]
    return named


def roai(table, delta, k, budget, *, lucb):
    """Pull what matters until no arm overlaps the threshold, with the publication's radius."""
    seen = Seen(table, True, delta)
    n = seen.n
    ends = []
    for i in range(n):
        seen.pull(i)
    queue = []
    while True:
        ends = seen.roai_ends()
        med, near, far, mad, theta = robust_ends(ends, k)
        open_ = [i for i, (a, b) in enumerate(ends) if a <= theta[1] and b >= theta[0]]
        if not open_:
            return seen.pulls, {i for i, (a, _) in enumerate(ends) if a > theta[1]}
        if len(seen.pulls) >= budget:
            return seen.pulls, None
        if not queue:
            named = lucb_arms(seen, ends, k) if lucb else []
            if not named:
                m_set = [i for i, (a, b) in enumerate(ends) if a <= med[1] and b >= med[0]]
                d_set = [i for i in range(n) if near[i] <= mad[1] and far[i] >= mad[0]]
                named = sorted({*open_, *m_set, *d_set})
            queue = [choice(0, len(seen.pulls), named)] if lucb else named
        seen.pull(queue.pop(0))


def gap_above(ends, arm):
    """The most that the gap above an arm can be, by trying every position that matters."""
    a, b = ends[arm]
    others = [e for i, e in enumerate(ends) if i != arm]
    most = 0.0
    for x in [a] + [e[0] for e in others if a <= e[0] <= b]:
        beyond = [e[1] for e in others if e[0] > x]
        furthest = min(beyond) if beyond else max(e[1] for e in others)
        most = max(most, furthest - x)
    return most


def maxgap(table, delta, budget, largest, *, values, gold=None, counts=False, border=False):
    """Pull the arms with the largest possible gaps until one gap is certainly the largest.

    Args:
        table: Rewards.
        delta: Error probability.
        budget: The most pulls.
        largest: The most arms that may be declared.
        values: How many of the largest values are looked at.
        gold: For the radii of the GOLD paper, whether rewards are 0/1; None for MaxGap's own.
        counts: Whether five times the pulls of all others are enough, too.
        border: Whether no arm but two may have a larger gap beside it.
    """
    seen = Seen(table, gold, delta)
    n = seen.n
    for i in range(n):
        seen.pull(i)
    queue = []
    while True:
        ends = seen.maxgap_ends() if gold is None else seen.gold_ends()
        mirrored = [(-b, -a) for a, b in ends]
        most = [max(gap_above(ends, i), gap_above(mirrored, i)) for i in range(n)]
        order = sorted(range(n), key=lambda i: ends[i][0])
        best = None
        for cut in range(1, n):
            below, above = order[:cut], order[cut:]
            gap = min(ends[i][0] for i in above) - max(ends[i][1] for i in below)
            if gap > 0 and (best is None or gap > best[0]):
                best = (gap, below, above)
        if best is not None:
            rest = 0.0
            for side in best[1:]:
                inside = [ends[i] for i in side]
                if len(inside) > 1:
                    rest = max(rest, *(gap_above(inside, i) for i in range(len(inside))))
            if best[0] >= (sorted(most)[-3] if border else rest):
                side = best[1] if len(best[1]) <= len(best[2]) else best[2]
                return seen.pulls, set(side) if len(side) <= largest else set()
        by_mean = sorted(range(n), key=lambda i: seen.means()[i])
        gaps = [seen.means()[j] - seen.means()[i] for i, j in pairwise(by_mean)]
        cut = gaps.index(max(gaps)) + 1
        both = seen.counts[by_mean[cut - 1]] + seen.counts[by_mean[cut]]
        if counts and both >= 5 * (len(seen.pulls) - both):
            side = by_mean[:cut] if cut <= n - cut else by_mean[cut:]
            return seen.pulls, set(side) if max(gaps) and len(side) <= largest else set()
        if len(seen.pulls) >= budget:
            return seen.pulls, None
        if not queue:
            least = sorted(set(most))[-values:][0]
            queue = [i for i in range(n) if most[i] >= least]
        seen.pull(queue.pop(0))
