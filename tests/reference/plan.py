"""Plans of the adaptive strategy, step by step as docs/adaptive.md has them: slow and plain.

A plan supposes that every estimate is right and that an interval shrinks with the root of its arm's
pulls. It is a list of factors: by how much the pulls of each arm are to grow.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import reference.adaptive as literal

SPLITS = [k / 12 for k in range(1, 12)]
"""How the distance that a gap can spare may be divided between the arms below and above."""
INSET = 0.01
"""How far inside a gap, in parts of its length, an arm must lie to fill it, at first."""
BOLD = 1.25
"""The least factor by which a step raises an arm's pulls, at first."""
LARGER = 32
"""With many arms, a step is larger by as much as the first one after so many steps."""
MOST_INSET = 0.2
"""But an inset is no more than this."""
STRETCH = 0.125
"""With many arms, chains have one arm of each stretch of this part of the widest gap allowed."""
TYPICAL = 0.35
"""They are compared by what this width would cost, in parts of the same."""
MOST_STRETCHES = 4096
"""And of no more stretches than this."""
LINES = 40
"""So many lines beyond the outermost estimate are looked at."""
NEAREST = 1 / 512
"""The nearest of them is this part of the distance of the furthest."""
MOST_STEPS = 64
"""After so many steps beyond a chain, a plan for many arms is given up."""
SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of an estimated gap that may be made certain."""
GROUP_SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)
"""Shares of what a group's gap can spare that may be spent on its own gaps."""
WIDTHS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.42, 0.35, 0.28, 0.2, 0.12)
"""How wide the interval of a link may be, in parts of the widest gap allowed."""


@dataclass
class Arms:
    """What a plan starts from.

    Attributes:
        low: Lower ends.
        high: Upper ends.
        means: Estimates.
        counts: Pulls.
        declared: Which arms are declared.
        alone: The evidence at which each arm's own interval ends; empty without pairs.
        pair_delta: The error probability of the evidence of pairs.
        caution: By what factor to raise the evidence that pairs seem to need.
        left: How many rewards each pool has left; empty if they never end.
        many: Whether plans are made in few steps.
        neighbours: With spans of how many gaps in a row a group is compared.
    """

    low: list[float]
    high: list[float]
    means: list[float]
    counts: list[float]
    declared: list[bool]
    alone: list[float] = field(default_factory=list)
    pair_delta: float = 0.0
    caution: float = 1.0
    left: list[float] = field(default_factory=list)
    many: bool = False
    neighbours: int = 1

    @property
    def n(self):
        """How many there are."""
        return len(self.means)

    @property
    def order(self):
        """The arms by their estimates."""
        return sorted(range(self.n), key=lambda arm: (self.means[arm], arm))


@dataclass
class Target:
    """What is to be certain.

    Attributes:
        cuts: Places in the order of estimates where a gap is to be certain.
        block: First and last place of a block; equal if there is none.
        gap: How wide the gaps are to be.
        windows: First and last place of windows.
        level: How wide a gap is to be certain in each window.
    """

    cuts: list[int]
    block: tuple[int, int]
    gap: float
    windows: list[tuple[int, int]] = field(default_factory=list)
    level: float = 0.0


def squared(x):
    """Return x·x, rounded once."""
    return x * x


def shrunk(arms, factors):
    """Return the intervals as they will be."""
    low, high = [], []
    for arm, factor in enumerate(factors):
        scale = factor**-0.5 if factor > 1 else 1.0
        mean = arms.means[arm]
        low.append(mean - (mean - arms.low[arm]) * scale)
        high.append(mean + (arms.high[arm] - mean) * scale)
    return low, high


def pulls(arms, factors, wanted):
    """Return what it costs to raise factors to those wanted."""
    total = 0.0
    for arm in range(arms.n):
        total += price(arms, arm, factors[arm], wanted[arm])
    return total


def price(arms, arm, factor, want):
    """Return what it costs to raise the factor of an arm.

    To divide 1/m - 1/N by a factor F, where m of N rewards are drawn, takes m·N·F / (N - m + m·F)
    of them.
    """
    count = arms.counts[arm]
    if not arms.left or want == math.inf:
        return count * (want - factor)
    left = arms.left[arm]
    both = (left + count * factor) * (left + count * want)
    return count * left * (count + left) * (want - factor) / both


def order_level(arms):
    """Return the evidence that plans count on to show in which order two neighbours lie."""
    return arms.caution * math.log((arms.n - 1) / (0.15 * arms.pair_delta))


def gap_level(arms, gap):
    """Return the evidence that plans count on to show that two neighbours are so far apart."""
    return arms.caution * -math.log(arms.pair_delta * (0.5 * gap + 0.2 / (arms.n - 1)))


def certified(arms, below, above, gap, factors, paired):
    """Raise factors until all arms `below` end before all `above` by `gap`, at the least cost.

    The last of `below` and the first of `above` are those next to the gap. What lies between
    these two beyond `gap` can be spared; a share of it goes to the arms below, the rest to
    those above.
    """
    border, other = arms.means[below[-1]], arms.means[above[0]]
    spare = other - border - gap
    best = (math.inf, factors)
    for split in SPLITS:
        cost, trial = 0.0, list(factors)
        for arm in (*below, *above):
            lower = arm in below
            mean = arms.means[arm]
            radius = arms.high[arm] - mean if lower else mean - arms.low[arm]
            beyond = border - mean if lower else mean - other
            part = split if lower else 1.0 - split
            if paired:
                wide = spare + gap
                single = arms.alone[arm] / squared(beyond + part * wide)
                both = order_level(arms) / (beyond * (beyond + 2 * wide) + part * wide * wide)
                apart = gap_level(arms, gap) / (
                    beyond * (beyond + 2 * spare) + part * spare * spare
                )
                want = (radius * radius / arms.alone[arm]) * max(apart, min(single, both))
            else:
                want = squared(radius / (beyond + part * spare))
            if want > factors[arm]:
                cost += price(arms, arm, factors[arm], want)
                trial[arm] = want
        if cost < best[0]:
            best = cost, trial
    return best[1]


def certify_cut(arms, cut, gap, factors):
    """Make a gap certain between the first `cut` arms of the order and the others."""
    order = arms.order
    return certified(arms, order[:cut], order[cut:], gap, factors, bool(arms.alone))


def certify_window(arms, window, level, factors):
    """Make certain that a window has a gap of `level`."""
    order, (first, last) = arms.order, window
    start, stop = first, last + 1
    while start > 0 and not arms.declared[order[start - 1]]:
        start -= 1
    while stop < arms.n and not arms.declared[order[stop]]:
        stop += 1
    paired = bool(arms.alone) and last == first + 1
    ends = order[start : first + 1], order[last:stop]
    return certified(arms, *ends, level * (last - first), factors, paired)


@dataclass
class Stride:
    """How large a step of a plan is.

    Attributes:
        bold: The least factor by which it raises an arm's pulls.
        inset: How far inside a gap, in parts of its length, an arm must lie to fill it.
        more: How many arms beyond those needed are to lie inside a rival.
    """

    bold: float = BOLD
    inset: float = INSET
    more: int = 0


def stride_at(arms, max_members, step):
    """Return how large a step is: with many arms the larger, the longer a plan takes."""
    if not arms.many:
        return Stride()
    times = step / LARGER
    inset = min(INSET * (1 + times), MOST_INSET)
    return Stride(1 + (BOLD - 1) * (1 + times), inset, int(times * max_members / 8))


def fitting(arms, arm, factor, low, high, bold, ends=(True, True)):
    """Return to what an arm's factor must grow for its interval to fit into [low, high].

    `ends` says whether its lower and its upper end matter.
    """
    mean = arms.means[arm]
    if not low < mean < high:
        return math.inf
    want = bold * factor
    if ends[0] and mean - arms.low[arm] > mean - low:
        want = max(want, squared((mean - arms.low[arm]) / (mean - low)))
    if ends[1] and arms.high[arm] - mean > high - mean:
        want = max(want, squared((arms.high[arm] - mean) / (high - mean)))
    return want


def fill(arms, factors, start, length, stride, barred=()):
    """Return the cheapest way to have an arm within a gap: its cost and the factors."""
    inset = stride.inset * length
    best = (math.inf, list(factors))
    for arm in range(arms.n):
        if arm in barred:
            continue
        if not start + 2 * inset < arms.means[arm] < start + length - 2 * inset:
            continue
        want = fitting(arms, arm, factors[arm], start + inset, start + length - inset, stride.bold)
        cost = price(arms, arm, factors[arm], want)
        if cost < best[0]:
            best = cost, [*factors[:arm], want, *factors[arm + 1 :]]
    return best


def emptied(arms, factors, x, e, tau, stride):
    """Return factors with which no arm can lie between the gaps of the rival."""
    low, high = shrunk(arms, factors)
    trial = list(factors)
    for arm in range(arms.n):
        if arms.declared[arm] or high[arm] <= x + tau or low[arm] >= e - tau:
            continue
        inset, given = stride.inset * tau, (arms, arm, factors[arm])
        below = fitting(*given, -math.inf, x + tau - inset, stride.bold, ends=(False, True))
        above = fitting(*given, e - tau + inset, math.inf, stride.bold, ends=(True, False))
        trial[arm] = min(below, above)
    return trial


def rule_out(arms, factors, block, x, e, tau, further, stride=None):
    """Return the cheapest way to rule out the rival between x and e: its cost and the factors."""
    low, high = shrunk(arms, factors)
    stride = stride or Stride()
    inset = stride.inset * tau
    inside = [low[arm] > x and high[arm] < e for arm in range(arms.n)]
    fits = [
        factor if there else fitting(arms, arm, factor, x + inset, e - inset, stride.bold)
        for arm, (factor, there) in enumerate(zip(factors, inside, strict=True))
    ]
    ways = [fill(arms, factors, start, tau, stride) for start in (x, e - tau)]
    trials = [emptied(arms, factors, x, e, tau, stride)]
    if block:
        trials.append([fits[arm] if arm in block else factors[arm] for arm in range(arms.n)])
    # More new arms inside than a group may gain. Of arms that cost as much as the dearest that is
    # needed, or less, those with the least index.
    missing = further + 1 - sum(there and not arms.declared[i] for i, there in enumerate(inside))
    costs = {
        arm: price(arms, arm, factors[arm], fits[arm])
        for arm in range(arms.n)
        if not inside[arm] and not arms.declared[arm] and fits[arm] < math.inf
    }
    if len(costs) >= missing + stride.more:
        missing += stride.more
    if len(costs) >= missing:
        limit = sorted(costs.values())[missing - 1]
        chosen = [arm for arm, cost in costs.items() if cost <= limit][:missing]
        trials.append([fits[arm] if arm in chosen else factors[arm] for arm in range(arms.n)])
    ways += [(pulls(arms, factors, trial), trial) for trial in trials]
    return min(ways, key=lambda way: way[0])


def first_rival(ends, declared, tau, limits, block, sides=(math.inf, -math.inf)):
    """Return the rival that is ruled out first, as (x, e); None if there is none.

    The lowest one that leaves out an arm of the block below it, with the lowest end; else the
    highest one that leaves out an arm above it, with the highest beginning.
    """
    low, high = ends
    begin = min((low[arm] for arm in block), default=-math.inf)
    end = max((high[arm] for arm in block), default=math.inf)
    every = literal.rivals(low, high, declared, tau, *limits, begin, end)
    every = [(x, e) for x, e in every if x <= sides[0] and e >= sides[1]]
    below = [(x, e) for x, e in every if begin <= x and x > -math.inf]
    above = [(x, e) for x, e in every if e <= end and e < math.inf]
    if below:
        return min(below)
    return max(above, key=lambda rival: (rival[1], rival[0])) if above else None


def beside(ends, order, cut, gap):
    """Return up to where the arms before a cut can reach, and from where on the others begin."""
    low, high = ends
    below, above = order[:cut], order[cut:]
    top = min(max(high[i] for i in below), min(high[i] for i in above) - gap)
    bottom = max(min(low[i] for i in above), max(low[i] for i in below) + gap)
    return top, bottom


def plan_target(arms, target, epsilon, further, min_segment, start):
    """Return the cost of a target, from planned factors on, and the factors."""
    factors, order = list(start), arms.order
    for cut in target.cuts:
        factors = certify_cut(arms, cut, target.gap, factors)
    for window in target.windows:
        factors = certify_window(arms, window, target.level, factors)
    block = order[slice(*target.block)]
    cost = pulls(arms, [1.0] * arms.n, factors)
    max_members = further + sum(arms.declared)
    for step in range(40 * arms.n):
        ends = shrunk(arms, factors)
        tau, limits = (1 + epsilon) * target.gap, (further, min_segment)
        rival = first_rival(ends, arms.declared, tau, limits, block)
        if rival is None and target.windows and target.cuts:
            tau = (1 + epsilon) * target.level
            sides = beside(ends, order, target.cuts[0], target.gap)
            rival = first_rival(ends, arms.declared, tau, limits, block, sides)
        if rival is None:
            return cost, factors
        stride = stride_at(arms, max_members, step)
        extra, factors = rule_out(arms, factors, block, *rival, tau, further, stride)
        cost += extra
        if cost == math.inf:
            break
    return math.inf, factors


def borders(arms, member):
    """Return the places in the order at which the group begins or ends."""
    order = arms.order
    return [k for k in range(1, arms.n) if member[order[k]] != member[order[k - 1]]]


def widest_inside(ends, keys, member, k=1):
    """Return the longest span of k gaps inside a segment: its length, ends and first arm.

    It begins at the lower end of an arm and must end where a k-th arm of the segment is certain to
    follow. If fewer than k arms begin later, that is nowhere: it ends with any other arm.
    """
    low, high = ends
    order = sorted(range(len(low)), key=lambda arm: (keys[arm], arm))
    segments, before = [], None
    for arm in order:
        if not member[arm]:
            if before is None or member[before]:
                segments.append([])
            segments[-1].append(arm)
        before = arm
    best = (0.0, 0.0, 0.0, -1)
    for segment in reversed(segments):
        beginnings = sorted({low[arm] for arm in segment}, reverse=True)
        for x in beginnings:
            begins = [arm for arm in segment if low[arm] == x]
            later = sorted(high[arm] for arm in segment if low[arm] > x)
            if len(later) < k:
                others = [a for a in segment if len(begins) > 1 or a != begins[0]]
                end = max((high[arm] for arm in others), default=-math.inf)
            else:
                end = later[k - 1]
            if end - x > best[0]:
                best = end - x, x, end, begins[-1]
    return best


def kept_within(arms, segment, line, above, factors):
    """Return cost and factors with which no arm can lie below a line, or above it."""
    cost, wanted = 0.0, list(factors)
    for arm in segment:
        mean = arms.means[arm]
        radius = arms.high[arm] - mean if above else mean - arms.low[arm]
        room = line - mean if above else mean - line
        if room <= 0:
            return math.inf, factors
        want = squared(radius / room)
        if want > factors[arm]:
            cost += price(arms, arm, factors[arm], want)
            wanted[arm] = want
    return cost, wanted


def cheapest_links(arms, segment, length, factors):
    """Return of each stretch of a segment the arm that takes the fewest further pulls."""
    begin, end = arms.means[segment[0]], arms.means[segment[-1]]
    stretch = max(STRETCH * length, (end - begin) / (MOST_STRETCHES - 1))
    stretches = {}
    for arm in segment:
        width = arms.high[arm] - arms.low[arm]
        cost = arms.counts[arm] * (squared(width / (TYPICAL * length)) - factors[arm])
        place = math.floor((arms.means[arm] - begin) / stretch)
        stretches.setdefault(place, []).append((cost, arm))
    return [min(part, key=lambda pair: pair[0])[1] for part in stretches.values()]


def fenced(arms, segment, above, factors):
    """Return a function: what it costs, roughly, that no arm can lie beyond a line.

    The costs are those of LINES lines, ever nearer to the outermost estimate; between two of them,
    costs are interpolated.
    """
    way = 1 if above else -1
    outermost = arms.means[segment[-1 if above else 0]]
    furthest = 0.0
    for arm in segment:
        radius = arms.high[arm] - arms.means[arm] if above else arms.means[arm] - arms.low[arm]
        inside = way * (outermost - arms.means[arm])
        furthest = max(furthest, radius * factors[arm] ** -0.5 - inside)
    away = [furthest * NEAREST ** (k / LINES) for k in range(LINES + 1)]
    lines = [outermost + way * distance for distance in away]
    costs = [0.0] * len(lines)
    if furthest > 0:
        costs[1:] = [kept_within(arms, segment, line, above, factors)[0] for line in lines[1:]]
    away = [way * (line - outermost) for line in lines]

    def cost(line):
        distance = way * (line - outermost)
        if distance <= 0:
            return math.inf
        k = next((k for k, nearer in enumerate(away) if distance >= nearer), None)
        if not k:
            return 0.0 if k == 0 else math.inf
        share = (away[k - 1] - distance) / (away[k - 1] - away[k])
        return costs[k - 1] + share * (costs[k] - costs[k - 1])

    return cost


def links_of(arms, segment, length, factors):
    """Return the links of chains, by their lower ends: low, arm, factor, high and cost."""
    links = []
    for arm in cheapest_links(arms, segment, length, factors) if arms.many else segment:
        width = arms.high[arm] - arms.low[arm]
        finer = [squared(width / (share * length)) for share in WIDTHS]
        for factor in (factors[arm], *(want for want in finer if want > factors[arm])):
            scale = factor**-0.5 if factor > 1 else 1.0
            low = arms.means[arm] - (arms.means[arm] - arms.low[arm]) * scale
            high = arms.means[arm] + (arms.high[arm] - arms.means[arm]) * scale
            if width * scale <= length:
                links.append((low, arm, factor, high, price(arms, arm, factors[arm], factor)))
    return sorted(links)


def covered(arms, segment, length, factors):
    """Return the factors of the cheapest chain that leaves no gap above `length` in a segment.

    A link ends within `length` of where the one before it begins. The first one ends within that
    of where any arm begins, and any arm ends within that of where the last one begins.
    """
    if arms.many:
        fences = [fenced(arms, segment, above, factors) for above in (False, True)]
    chains = []  # for each link the cheapest chain that ends with it, and its cost
    whole = (math.inf, factors)
    for low, arm, factor, high, own in links_of(arms, segment, length, factors):
        line = high - length
        before, chain = kept_within(arms, segment, line, False, factors)
        before = fences[0](line) if arms.many else before
        for cost, links, begin in reversed(chains):
            if begin >= line and cost < before:
                before, chain = cost, links
        with_it = [*chain[:arm], max(chain[arm], factor), *chain[arm + 1 :]]
        chains.append((before + own, with_it, low))
        rest, ends = kept_within(arms, segment, low + length, True, factors)
        rest = fences[1](low + length) if arms.many else rest
        if before + own + rest < whole[0]:
            both = [max(pair) for pair in zip(with_it, ends, strict=True)]
            whole = before + own + rest, both
    return whole[1]


def segments(arms, member):
    """Return the segments of a group with more than one arm."""
    edges = [0, *borders(arms, member), arms.n]
    parts = [arms.order[first:last] for first, last in itertools.pairwise(edges)]
    return [part for part in parts if len(part) > 1 and not member[part[0]]]


def confirm(arms, member, shifts, gap, length, chain, max_members=1):
    """Return cost and factors for gaps of `gap` around a group, no span above `length` inside."""
    factors = [1.0] * arms.n
    for cut in borders(arms, member):
        factors = certify_cut(arms, cut, gap, factors)
    for segment in segments(arms, member) if chain else []:
        narrow = length / arms.neighbours
        just_less = narrow * (1 - 1e-9) if arms.many else narrow
        factors = covered(arms, segment, just_less, factors)
    cost = pulls(arms, [1.0] * arms.n, factors)
    members = [arm for arm in range(arms.n) if member[arm]]
    for step in range(MOST_STEPS if arms.many else 40 * arms.n):
        low, high = shrunk(arms, factors)
        keys = [a + b for a, b in zip(low, shifts, strict=True)]
        widest, start, stop, first = widest_inside((low, high), keys, member, arms.neighbours)
        if widest <= length:
            return cost, factors
        stride = stride_at(arms, max_members, step)
        place = (keys[first], first)
        there = [a for a in range(arms.n) if (keys[a], a) > place and high[a] < start + length]
        ways = [fill(arms, factors, start, length, stride, {*members, *there})]
        for arm in range(arms.n):
            begins = arm == first and arms.means[arm] > start
            ends = high[arm] == stop and not member[arm] and arms.means[arm] < stop
            if begins or ends:
                trial = [*factors[:arm], stride.bold * factors[arm], *factors[arm + 1 :]]
                ways.append((price(arms, arm, factors[arm], trial[arm]), trial))
        extra, factors = min(ways, key=lambda way: way[0])
        cost += extra
        if cost == math.inf:
            break
    return math.inf, factors


def refute(arms, member, span, inside, apart):
    """Return the cost and factors for a span of `inside` and a group within `apart`.

    The span is from the arm before its first place to the arm at its second one.
    """
    order, ends = arms.order, (arms.order[: span[0]], arms.order[span[1] :])
    paired = bool(arms.alone) and span[0] == span[1]
    start = certified(arms, *ends, inside, [1.0] * arms.n, paired)
    best = math.inf, start
    for k in borders(arms, member):
        one, two = order[k - 1], order[k]
        spare = apart - (arms.means[two] - arms.means[one])
        if spare <= 0:
            continue
        for tenths in range(1, 10):
            share, trial = tenths / 10, list(start)
            down, up = arms.means[one] - arms.low[one], arms.high[two] - arms.means[two]
            trial[one] = max(start[one], squared(down / (share * spare)))
            trial[two] = max(start[two], squared(up / ((1 - share) * spare)))
            extra = price(arms, one, start[one], trial[one])
            extra += price(arms, two, start[two], trial[two])
            if extra < best[0]:
                best = extra, trial
    if best[0] == math.inf:
        return best
    return pulls(arms, [1.0] * arms.n, best[1]), best[1]


def plan_group(arms, member, shifts, epsilon, chains):
    """Return the cost and factors that would tell whether the members are a group."""
    order, best = arms.order, (math.inf, [1.0] * arms.n)
    gaps = {k: arms.means[order[k]] - arms.means[order[k - 1]] for k in range(1, arms.n)}
    edges = borders(arms, member)
    apart = min(gaps[k] for k in edges)
    spans = {}
    for segment in segments(arms, member):
        first = order.index(segment[0])
        for at in range(first + 1, first + len(segment)):
            begin = max(at - arms.neighbours, first)
            spans[begin + 1, at] = arms.means[order[at]] - arms.means[order[begin]]
    span = max(spans, key=lambda ends: spans[ends], default=(0, 0))
    inside = spans.get(span, 0.0)
    margin = apart - (1 + epsilon) * inside
    if margin == 0:
        return best
    for share in GROUP_SHARES:
        if margin > 0:
            gap = apart - share * margin
            given = arms, member, shifts, gap, gap / (1 + epsilon)
            kinds = [True] if arms.many else [False, True] if chains else [False]
            ways = [confirm(*given, chain) for chain in kinds]
        else:
            gap = inside + share * margin / (1 + epsilon)
            ways = [refute(arms, member, span, gap, (1 + epsilon) * gap)]
        best = min([best, *ways], key=lambda way: way[0])
    return best


def climbed(costs, place, axes, budget=math.inf):
    """Return where a walk over a table of costs ends, and the cost there.

    It goes from `place` along each axis in turn: up as long as that is cheaper, or else down. If
    all costs that it meets are infinite and there is no budget, it looks at every entry of the
    first axis. The place stays if nothing costs less than the budget.
    """
    cost = min(costs[place], budget)
    for axis in axes:
        for way in (1, -1):
            moved = False
            while True:
                step = [way if k == axis else 0 for k in range(2)]
                then = place[0] + step[0], place[1] + step[1]
                if not 0 <= then[axis] < len(SHARES) or not costs[then] < cost:
                    break
                place, cost, moved = then, costs[then], True
            if moved:
                break
    if cost == math.inf:
        column = [(share, place[1]) for share in range(len(SHARES))]
        best = min(column, key=lambda at: costs[at])
        if costs[best] < math.inf:
            place, cost = best, costs[best]
    return place, cost
