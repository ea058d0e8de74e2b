"""How much memory an open study is thought to hold."""

import gc
import tracemalloc

import pytest

from oddarm import create_study
from oddarm.store.footprint import held_bytes


@pytest.mark.parametrize("strategy", ["adaptive", "gold", "rr"])
@pytest.mark.parametrize(("arms", "asked"), [(40, 1000), (2000, 10), (2000, 4000)])
def test_estimate_of_a_study(tmp_path, strategy, arms, asked):
    """The estimate is about what Python has allocated, for few and many arms and pulls."""
    options = {"strategy": strategy, "max_outliers": 2}
    with create_study(tmp_path / "first.db", "x", arms, **options) as first:
        first.ask(3)  # so that everything is loaded
    gc.collect()
    tracemalloc.start()
    try:
        names = [f"arm-{k}" for k in range(arms)]
        study = create_study(tmp_path / "s.db", "x", names, **options)
        del names
        study.ask(asked)
        gc.collect()
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.6 < study.held_bytes / allocated < 1.5
    study.close()


def test_what_is_shared_counts_once():
    """An object that is referred to twice is held once; classes and modules are not held."""
    text = "x" * 1000
    assert held_bytes([text, text]) < held_bytes([text]) + 100
    assert held_bytes(gc, dict) == 0
