"""What the absolute rule promises, checked on many truths within intervals: slow and plain."""

from __future__ import annotations

import numpy as np

import reference.adaptive as literal


def apart(configurations, gap, most):
    """Return for each configuration (row) which arms are in pieces of at most `most` arms."""
    order = np.argsort(configurations, axis=1, kind="stable")
    means = np.take_along_axis(configurations, order, axis=1)
    cuts = np.diff(means, axis=1) > gap
    piece = np.concatenate([np.zeros((len(means), 1), int), np.cumsum(cuts, axis=1)], axis=1)
    size = (piece[:, :, None] == piece[:, None, :]).sum(axis=2)
    found = np.empty(configurations.shape, dtype=bool)
    np.put_along_axis(found, order, size <= most, axis=1)
    return found


def truths(low, high, gap, most, rng, count):
    """Return configurations of means within the intervals, many of them with small pieces.

    Half as `sampled_means` has them. In the others a few arms are drawn to one place, and all else
    is pushed away from it: to the end of its interval that is further away, or to any.
    """
    n = len(low)
    half = count // 2
    sampled = literal.sampled_means(low, high, rng, half)
    place = np.where(
        rng.random(half) < 0.5,
        rng.integers(low.min(), high.max(), half, endpoint=True),
        rng.choice(np.concatenate([low, high]), half) + rng.choice([0, gap, -gap], half),
    )[:, None]
    chosen = rng.random((half, n)).argsort(axis=1) < rng.integers(1, most + 1, (half, 1))
    further = np.where(np.abs(low - place) > np.abs(high - place), low, high)
    either = np.where(rng.random((half, n)) < 0.5, low, high)
    others = np.where(rng.random((half, 1)) < 0.6, further, either)
    return np.concatenate([sampled, np.where(chosen, np.clip(place, low, high), others)])


def contradictions(verdict, members, configurations, gap, sure_gap, most):
    """Return in how many configurations an answer breaks what it promises."""
    least, largest = apart(configurations, gap, most), apart(configurations, sure_gap, most)
    if verdict == "none":
        return int(least.any(axis=1).sum())
    if verdict == "scattered":
        return int((largest.sum(axis=1) <= most).sum())
    inside = ~(least & ~members).any(axis=1) & ~(members & ~largest).any(axis=1)
    return int((~inside).sum())
