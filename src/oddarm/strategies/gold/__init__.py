"""GOLD: Generic OutLier Detection (Ban and He, KDD 2020).

`algorithm` is Algorithm 1 as printed, line by line; `anytime` changes what the proof needs changed;
`intervals` is the form for very many arms; `sweep` is what all three share.
"""

from __future__ import annotations

from oddarm.strategies.gold.algorithm import GoldRun
from oddarm.strategies.gold.anytime import AnytimeRun
from oddarm.strategies.gold.intervals import GoldIntervalRun
from oddarm.strategies.gold.strategy import Gold

__all__ = ["AnytimeRun", "Gold", "GoldIntervalRun", "GoldRun"]
