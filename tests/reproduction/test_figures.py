"""The figures, on made-up cells."""

from reproduction.figures import draw_all
from support.made_cells import capped, everything

PNG = b"\x89PNG\r\n\x1a\n"


def test_figures_are_drawn_for_the_cells_there_are(tmp_path):
    """Each figure is a PNG, once for each kind of radii that has cells of it."""
    drawings = draw_all([*everything(), capped(strategy="rr", instance="upper-20-2.5")], tmp_path)
    assert [drawing.stem for drawing in drawings] == [
        "figure1", "figure2-bernoulli", "figure2-anytime", "figure3-bernoulli", "figure3-anytime",
        "figure4-bernoulli", "figure5-bernoulli", "figure6",
    ]  # fmt: skip
    assert all(drawing.path.read_bytes().startswith(PNG) for drawing in drawings)
    assert {path.stem for path in tmp_path.iterdir()} == {drawing.stem for drawing in drawings}


def test_figures_without_cells_are_skipped(tmp_path):
    """A figure without cells leaves no file; Figure 1 needs none."""
    assert [drawing.stem for drawing in draw_all([], tmp_path)] == ["figure1"]
    assert [path.name for path in tmp_path.iterdir()] == ["figure1.png"]
