"""The neighbourhood graph, whose edges only disappear, and its communities."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddarm.state import Kind, Word, damaged, mapping, require

__all__ = ["Edges", "NeighbourGraph"]


class NeighbourGraph:
    """The graph G of GOLD, as a matrix (Definitions 4 to 6).

    Memory is n² bytes. Deleting the edges of one arm costs O(n) for each of them.

    Attributes:
        edges: Whether two arms are neighbours; an arm is a neighbour of itself.
        may_have_split: Whether there may be other communities than when `communities` was last
            called: a deleted edge has left its two ends without a common neighbour.
    """

    def __init__(self, edges: NDArray[np.bool_]) -> None:
        self.edges = edges
        np.fill_diagonal(self.edges, True)
        self.may_have_split = not edges.all()  # a complete graph is one community

    def delete(self, arm: int, others: NDArray[np.intp]) -> None:
        """Delete the edges between `arm` and `others`."""
        self.edges[arm, others] = self.edges[others, arm] = False
        if not (self.edges[arm] & self.edges[others]).any(axis=1).all():
            self.may_have_split = True

    def community(self, arm: int) -> NDArray[np.intp]:
        """Return the arms connected with `arm`, itself included, in ascending order."""
        reached = self.edges[arm].copy()
        newly = reached.copy()
        newly[arm] = False
        while newly.any():
            neighbours = self.edges[newly].any(axis=0)
            newly = neighbours & ~reached
            reached |= newly
        return np.flatnonzero(reached)

    def communities(self) -> list[NDArray[np.intp]]:
        """Return all communities, by their first arm: ConnectedComponents of line 18."""
        self.may_have_split = False
        communities = []
        unseen = np.ones(len(self.edges), dtype=bool)
        while unseen.any():
            members = self.community(int(np.argmax(unseen)))
            unseen[members] = False
            communities.append(members)
        return communities


class Edges(Kind):
    """A graph of `n` arms in a saved state: the bits of its matrix, row by row, as base64."""

    def __init__(self, n: int) -> None:
        self.n = n

    def encode(self, value: NeighbourGraph) -> dict[str, Any]:
        """Return a graph as JSON values."""
        packed = np.packbits(value.edges)
        return {"n": self.n, "edges": base64.b64encode(packed.tobytes()).decode()}

    def decode(self, value: Any, name: str) -> NeighbourGraph:
        """Return the graph."""
        values, n = mapping(value, name), self.n
        text = Word().decode(values.get("edges"), f"{name}.edges")
        try:
            packed = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
        except (binascii.Error, ValueError):
            raise damaged(f"{name}.edges", text, "base64") from None
        rule = f"the bits of {n} rows of {n} in base64"
        if len(packed) != (n * n + 7) // 8:  # before n² bytes are taken for it
            raise damaged(f"{name}.edges", text, rule)
        edges = np.unpackbits(packed, count=n * n).astype(bool).reshape(n, n)
        require((edges == edges.T).all(), "an edge of the graph leads both ways")
        return NeighbourGraph(edges)
