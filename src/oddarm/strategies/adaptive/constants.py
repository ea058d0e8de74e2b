"""What was chosen by hand. No promise depends on it, only the number of pulls and the time.

Each says what it does, and which experiment chose it, as far as docs/adaptive.md, CHANGELOG.md or
the history of the project records one. Plans have further constants in C, beside their use:
kernels/plans.c, kernels/groups.c and kernels/pairs.c.
"""

from __future__ import annotations

OLD_PLANNER, SECOND_PLANNER, THIRD_PLANNER, PLANNER = 1, 2, 3, 4
"""How a run decides and plans; it goes on as it began. Runs of 0.1 have the old planner: no
evidence against a whole truth, and where intervals judge a group, greedy covers and pools that
never end. The second one has evidence of several arms at once for 0/1 rewards only, and by the
relative rule only until "found"; it makes all plans in small steps, also for many arms. The third
one does so with at most SMALL_STEPS_MOST_ARMS arms only. These three give up the evidence of
several arms at once whenever they start over. Runs that begin now have the fourth one, which keeps
it where that is proved (docs/adaptive.md, "Arms that fail")."""
FIRST_PULLS = 5
"""Every arm is pulled this often before anything is planned. No experiment is recorded."""
MAX_GROWTH = 0.15
"""A round raises an arm's pulls by at most this share, or once: then there is more to plan by.
No experiment is recorded."""
PAIR_SHARE = 0.6
"""This share of δ goes to the evidence of pairs; the rest goes to the intervals of single arms.
The evidence of pairs saved a quarter of the pulls (commit b61354f); no other share is recorded."""
ABSOLUTE_SHARES = 0.6, 0.3
"""By the absolute rule, endless rewards in a range: the shares of δ for the evidence that nobody
else lies apart, and for that of pairs; the rest goes to the intervals of single arms. 0.7 and 0.2
were tried too, for 0/1 rewards: where the outliers are just far enough, pairs are what is missing
last."""
ABSOLUTE_JOINT_MOST_ARMS = 2_000
"""By the absolute rule, with more arms there is no evidence against a whole truth: a plan for it
takes time with the square of the arms, more than 2 s with 5,000 of them."""
JOINT_SHARES = 0.35, 0.3
"""By the relative rule and for endless 0/1 rewards, unless a ranking is asked for: the shares of δ
for the evidence against a whole truth and for that of pairs; the rest goes to the intervals of
single arms. With 0.5 and 0.3 searches took as many pulls, within noise, but a search that ends with
"none" has less left for its intervals."""
BOUNDED_SHARES = 0.15, 0.1
"""The same for endless bounded rewards. Of 0.35 and 0.3, 0.2 and 0.2, and these, geometric means of
four seeds with rewards Beta(4μ, 4(1-μ)): 8,126, 8,336 and 8,785 pulls for a group, 15 arms from 0.2
to 0.4 and one at 0.7; 14,678, 12,848 and 11,971 for "none", 14 arms from 0.2 to 0.6; 5,518, 5,781
and 5,306 for "none", 12 arms at random."""
JOINT_MOST_ARMS = 100
"""By the relative rule, with more arms there is no evidence against a whole truth: the search for
the weakest truths is slow at first, when intervals are wide. A round of 50 arms then takes some
20 ms, of 100 arms 50 ms, of 200 arms 200 ms."""
BOUNDED_MOST_ARMS = 60
"""The same for bounded rewards, whose bets take several times as long; and for all rewards by the
second planner."""
JOINT_ROUND = 0.1
"""A round that plans for evidence against a whole truth has this share of the pulls so far. With
known means, on six synthetic instances of 20 arms from seed 1,000 on (ε = 5, searched at 2.5), 0.05
took as many pulls."""
JOINT_TEMPER = 1.5
"""In such a round, a truth with this much more evidence against it counts e times less. In the same
experiment 1 and 2 took as many pulls, 4 took a tenth more."""
JOINT_FOCUS = 1.5
"""An arm is pulled by this power of what a pull of it adds. In the same experiment 1 and 2 took as
many pulls, 4 a quarter more."""
JOINT_LEAST_GAP = 0.35
"""Such a round counts on this share of the estimated gaps to be certain in the end. No experiment
is recorded."""
JOINT_LEAST_STRETCH = 1 / 400
"""Empty stretches shorter than this are not looked at, and nothing is certain where they matter:
the time that they take grows with the inverse of their length."""
JOINT_TRY = 0.0
"""All truths are looked at once the weakest ones of a coarse search lack so much evidence."""
FIRST_CAUTION = 0.8
"""Plans count on this part of the evidence that pairs seem to need, at first. Before commit 0b19f6f
it was 1; what the change saved is not recorded."""
CAUTION_STEP = 1.05
"""When a plan is fulfilled and decides nothing, plans count on so many times more evidence.
No experiment is recorded."""
LARGE_CAUTION_STEP = 1.25
"""Like CAUTION_STEP, but above MANY_ARMS arms and while pulls are in flight. An ask for 2,000 pulls
of 2,000 arms took up to 40 s with small steps (commit b2a660d)."""
MAX_CAUTION = 8.0
"""Above this the evidence of pairs is not what is missing, and the widest intervals are narrowed.
No experiment is recorded."""
MANY_ARMS = 500
"""Above this many arms a plan is slow, so an ask gets all that it wants by a few plans. With fewer
arms plans take milliseconds, and the figures in docs/adaptive.md were measured with rounds planned
one after the other (commit c84a765)."""
SMALL_STEPS_MOST_ARMS = 2_000
"""With more arms, plans are made in few steps that grow, and segments are covered by chains of few
arms: in small steps, a plan to judge a group takes time with the square of the arms. With 5,000
arms one ask took 3 s in small steps and takes 0.25 s in few. In few steps 600 arms took 0.94 to
1.20 times the pulls (five searches), so that fewer arms keep small steps."""
LEAST_ROUND = 0.03
"""Above SMALL_STEPS_MOST_ARMS arms, and where arms have few rewards left, a round has at least this
share of the pulls so far: the arms that a plan wants may be used up but for one or two. A table of
10,000 arms with 30 rows each took thousands of rounds of three rows each without it."""
PATIENCE = 7
"""For so many rounds only the best block is planned for, after no other way was cheaper.
No experiment is recorded."""
MAX_ASK = 1_000_000
"""An ask without a limit returns at most this many pulls, or one of each arm if that is more: it is
a list in memory."""
WIDE_SHARE = 0.7
"""Where nothing can be planned, intervals of at least this share of the widest are narrowed.
No experiment is recorded."""
SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Of the estimate of a gap, a plan makes one of these shares certain. The best one is mostly from
0.2 to 0.5 (docs/adaptive.md, "Which arms to pull")."""
FIRST_SHARES = SHARES.index(0.4), SHARES.index(0.5)
"""The first plan begins with these, of a gap and of the level of windows. No experiment is
recorded."""
WIDEST_GAPS = 3
"""So many of the widest gaps are tried to show that no further group is possible.
No experiment is recorded."""
PAIR_EASE = 1.5
"""By the evidence of pairs, a single gap can spare so many times what a window can, for as many
pulls. No experiment is recorded."""
ROUND_PASSES = 2
"""So often a round goes over its plan by the absolute rule: it raises the pulls of an arm by 15 %
only, and a plan to the end is needed only for a forecast. 2, 3 and 4 took as many pulls, within
noise, on 13 instances of 16 to 50 arms."""
MOST_LINES = 5
"""So many answers of the absolute rule are planned for at most, where gaps lie within the slack."""
MOST_HUBS = 64
LEAST_HUBS = 16
HUBS_BY_ARMS = 6400
"""So many arms are tried as hubs that link the others: 64, but with n arms no more than 6,400 / n,
and at least 16. A plan takes time with hubs times arms, and with the square of the hubs."""
HUB_STEPS = 24
"""In so many steps the pulls of a hub are tried, from what they are to the finest hub."""
FINEST_HUB = 0.05
"""A hub is known to this share of the scale at the finest. With one hub for n equal arms the best
share falls with the third root of n: 0.27 for 20 arms, 0.09 for a thousand."""
FORECAST_MARGIN = 0.15
"""A forecast adds this share of the pulls so far to what a plan takes. Plans suppose that estimates
are right, and fall short near the end: without it, on three instances of 20 and 50 arms, searches
took 1.2 to 2.4 times the forecast half way and 1.3 to 5.4 times at nine tenths."""
MOST_FORECAST = 1e15
"""More further pulls are not forecast: they are as good as none."""
LEAST_SHARE = 0.1
"""With a slack, and while a group is judged by intervals, every arm has at least this share of the
mean pulls of an arm, so that a search with a slack ends whatever the plans are (docs/adaptive.md,
"A floor and a slack"). 0, 0.05, 0.1 and 0.2 were tried on 12 synthetic instances of 20 arms with
ε = 5, searched at 2.5 until "found": geometric means of 32,800, 28,700, 27,800 and 27,300 pulls, at
most 163,000, 72,000, 53,000 and 52,000.
Without a slack it saved 0 to 3 % on the Beta rewards of docs/adaptive.md, "What was measured"."""
GUESS_ROUND = 0.05
"""With `until="budget"`, a round has this share of the pulls so far. With 0.1 guesses were right as
often within the error of the experiment (below)."""
GUESS_SHARE = 0.5
"""With `until="budget"`, every arm has this share of an equal part of the pulls. What is believed
of an arm with few pulls may be wrong, and nothing else would show it. Guesses were right in % of 60
instances of each of nine kinds from seed 10,000 on, with 40 and 100 pulls per arm, most of
them hard: 68 and 88 with 0.35, 73 and 88 with 0.5, 73 and 89 with 0.65; equal pulls of all arms 56
and 81."""
GUESS_GROWTH = 1.0
"""With `until="budget"`, a round raises an arm's pulls by at most this share, or once. In the same
experiment 73 and 88 with 0.25, 73 and 90 with 1."""
LINE_PLACE = 0.5
"""The line of a set is so far from the widest gap that it does not cut to the narrowest one around
it. In the same experiment 71 and 87 with 0.1, 73 and 88 with 0.2, 74 and 89 with 0.35 and with 0.5.
With the lines of the two best sets, on 80 instances of each of its seven relative kinds from seed
11,000 on: 88 and 100 with 0.5; with the line of the best set alone, at 0.35, 84 and 98."""
BLUR = 0.15
"""How far a mean is from a critical point is blurred by this share of the squared half width of its
interval: by 1 to 2 standard errors. In the same experiment 71 and 88 with 0.015, 73 and 88 with
0.05, 75 and 88 with 0.15."""
