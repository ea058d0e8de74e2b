"""Algorithm 1 with the proved radius, in plain Python on a networkx graph.

It is written with care: it looks only at the edges of the pulled arm, and at communities only after
one of those edges is deleted.
"""

from __future__ import annotations

import math
import random
import sys
import time

import networkx as nx


def main(n: int, pulls: int) -> float:
    """Return the seconds per pull."""
    rng = random.Random(0)
    means = [0.4 + 0.2 * min(i, n - 2) / (n - 2) for i in range(n)]
    epsilon, alpha, capacity = 2.5, 0.1 / n, 2
    b = (1 + math.exp(1 / 16) + epsilon) / (1 - math.exp(1 / 16) + epsilon)
    level = -2 * math.log(alpha)
    r = 2000 / (level + math.log1p(level))

    def radius(m: int) -> float:
        return 0.5 * math.sqrt((m + r) * (math.log((m + r) / r) + level)) / m

    graph = nx.complete_graph(n)
    counts, totals, terminal = [0] * n, [0.0] * n, {}
    start = time.process_time()
    done = 0
    while done < pulls:
        for i in range(n):
            if i in terminal:
                continue
            counts[i] += 1
            totals[i] += rng.random() < means[i]
            done += 1
            if counts[-1] == 0:
                continue
            y, beta = totals[i] / counts[i], radius(counts[i])
            lost = [
                j
                for j in graph.neighbors(i)
                if abs(y - totals[j] / counts[j]) > b * (beta + radius(counts[j]))
            ]
            if lost:
                graph.remove_edges_from([(i, j) for j in lost])
                for members in nx.connected_components(graph):
                    if len(members) <= capacity:
                        for j in members:
                            terminal.setdefault(j, done)
            if len(terminal) >= capacity:
                return (time.process_time() - start) / done
    return (time.process_time() - start) / done


if __name__ == "__main__":
    print(main(int(sys.argv[1]), int(sys.argv[2])))
