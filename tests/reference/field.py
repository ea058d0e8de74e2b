"""Threshold, ADE and the clusters of single linkage, written out plainly, one pull after another.

Each function takes a table of rewards (table[arm][k] is the k-th reward of an arm) and a budget,
and returns the order of pulls and the answer (None if the budget ended first). Rewards lie in
[0, 1], and each arm's interval is Hoeffding's, summed over all pulls.
"""

import math
from itertools import combinations, pairwise

from reference.rivals import Seen, choice, gap_above


class Known(Seen):
    """Rewards drawn so far, with intervals that are intersected with all before them."""

    def __init__(self, table, delta, factor=math.pi**2 / 3):
        super().__init__(table, True, delta)
        self.factor, self.ends = factor, [(0.0, 1.0)] * self.n
        for i in range(self.n):
            self.pull(i)

    def pull(self, i):
        """Draw the next reward of an arm."""
        super().pull(i)
        s, m = self.sums[i], self.counts[i]
        r = 0.5 * math.sqrt(2 * math.log(self.factor * self.n / self.delta * m * m) / m)
        self.ends[i] = max(s / m - r, self.ends[i][0]), min(s / m + r, self.ends[i][1])


def threshold(table, delta, level, budget):
    """HDoC: pull the arm with the largest index until each is above or below the level."""
    seen = Known(table, delta, factor=4)
    while True:
        open_ = [i for i, (a, b) in enumerate(seen.ends) if a <= level <= b]
        if not open_:
            return seen.pulls, {i for i, (a, _) in enumerate(seen.ends) if a > level}
        if len(seen.pulls) >= budget:
            return seen.pulls, None
        log_t, y = math.log(len(seen.pulls)), seen.means()
        index = [y[i] + math.sqrt(log_t / (2 * seen.counts[i])) for i in range(seen.n)]
        seen.pull(max(open_, key=lambda i: index[i]))


def ade(table, delta, k, budget):
    """Arms that are not decided in turn, or any arm while the threshold is known less well."""
    seen = Seen(table, True, delta)
    for i in range(seen.n):
        seen.pull(i)
    position = -1
    while True:
        _, width, radii = seen.sigma(k)
        active = [i for i, is_active in enumerate(seen.active(k)) if is_active]
        if not active:
            return seen.pulls, seen.above(k)
        if len(seen.pulls) >= budget:
            return seen.pulls, None
        arm = min(active, key=lambda i: (i <= position, i))
        if radii[arm] >= width:
            position = arm
        else:
            arm = choice(0, len(seen.pulls), range(seen.n), 2)
        seen.pull(arm)


def certain_clusters(ends, clusters):
    """The pieces of the most certain K-1 cuts, if no gap within them can be larger; else None."""
    n = len(ends)
    order = sorted(range(n), key=lambda i: ends[i][0])
    gaps = []
    for cut in range(1, n):
        gap = min(ends[i][0] for i in order[cut:]) - max(ends[i][1] for i in order[:cut])
        if gap > 0:
            gaps.append((gap, cut))
    gaps = sorted(gaps, reverse=True)[: clusters - 1]
    if len(gaps) < clusters - 1:
        return None, gaps
    borders = [0, *sorted(cut for _, cut in gaps), n]
    pieces = [order[a:b] for a, b in pairwise(borders)]
    rest = 0.0
    for piece in pieces:
        inside = [ends[i] for i in piece]
        if len(inside) > 1:
            rest = max(rest, *(gap_above(inside, i) for i in range(len(inside))))
    return (pieces if gaps[-1][0] >= rest else None), gaps


def linked(means, clusters):
    """Single linkage of the sample means: join the two nearest clusters until K are left."""
    pieces = [[i] for i in range(len(means))]
    while len(pieces) > clusters:
        near = min(
            combinations(pieces, 2),
            key=lambda pair: min(abs(means[i] - means[j]) for i in pair[0] for j in pair[1]),
        )
        pieces = [p for p in pieces if p not in near] + [near[0] + near[1]]
    pieces = [sorted(piece, key=lambda i: means[i]) for piece in pieces]
    return sorted(pieces, key=lambda piece: means[piece[0]])


def boc(table, delta, clusters, budget, *, lucb):
    """Pull what matters until the clusters are certain; return the pulls and the pieces."""
    seen = Known(table, delta)
    queue = []
    while True:
        ends = seen.ends
        pieces, gaps = certain_clusters(ends, clusters)
        if pieces:
            return seen.pulls, pieces
        if len(seen.pulls) >= budget:
            return seen.pulls, None
        if not queue and lucb:
            parts = linked(seen.means(), clusters)
            cuts = [(one[-1], two[0]) for one, two in pairwise(parts)]
            inner = [pair for part in parts for pair in pairwise(part)]
            weakest = min(cuts, key=lambda pair: ends[pair[1]][0] - ends[pair[0]][1])
            rival = max(inner, key=lambda pair: ends[pair[1]][1] - ends[pair[0]][0])
            wider = [max(pair, key=lambda i: ends[i][1] - ends[i][0]) for pair in (weakest, rival)]
            queue = sorted(set(wider))
        elif not queue:
            mirrored = [(-b, -a) for a, b in ends]
            most = [max(gap_above(ends, i), gap_above(mirrored, i)) for i in range(seen.n)]
            least = gaps[-1][0] if len(gaps) == clusters - 1 else 0.0
            queue = [i for i in range(seen.n) if most[i] > least]
        seen.pull(queue.pop(0))
