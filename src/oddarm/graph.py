"""Communities of arms: connected components of a graph whose edges only disappear."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NeighbourGraph"]


class NeighbourGraph:
    """The neighbourhood graph of GOLD, as a matrix (Definitions 4 to 6).

    Memory is n² bytes. Deleting the edges of one arm costs O(n); communities are searched anew
    only where a deleted edge has left its two ends without a common neighbour.
    """

    def __init__(self, edges: NDArray[np.bool_]) -> None:
        self.edges = edges
        np.fill_diagonal(self.edges, True)  # an arm is in its own community

    def drop(self, arm: int, others: NDArray[np.intp]) -> bool:
        """Delete the edges between `arm` and `others`; return whether a community may split."""
        self.edges[arm, others] = False
        self.edges[others, arm] = False
        common = self.edges[others] & self.edges[arm]
        return not bool(common.any(axis=1).all())

    def community(self, arm: int) -> NDArray[np.intp]:
        """Return the arms connected with `arm`, itself included, in ascending order."""
        reached = self.edges[arm].copy()
        newly = reached.copy()
        newly[arm] = False
        while newly.any():
            found = self.edges[newly].any(axis=0)
            newly = found & ~reached
            reached |= newly
        return np.flatnonzero(reached)

    def communities(self) -> list[NDArray[np.intp]]:
        """Return all communities, by their first arm."""
        found = []
        unseen = np.ones(len(self.edges), dtype=bool)
        while unseen.any():
            members = self.community(int(np.argmax(unseen)))
            unseen[members] = False
            found.append(members)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as JSON values."""
        packed = np.packbits(self.edges)
        return {"n": len(self.edges), "edges": base64.b64encode(packed.tobytes()).decode()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> NeighbourGraph:
        """Return the graph that `to_dict` described."""
        n = int(values["n"])
        packed = np.frombuffer(base64.b64decode(values["edges"]), dtype=np.uint8)
        return cls(np.unpackbits(packed, count=n * n).astype(bool).reshape(n, n))
