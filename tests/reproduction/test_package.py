"""What is installed with oddarm, and what is not."""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = {"datasets", "errors", "rewards", "sources", "strategies", "theory"}


def imported(folder):
    """Return the names of all modules that the files of a folder import."""
    nodes = [
        node for path in folder.rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))
    ]
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom)}


def test_the_evaluation_is_not_installed():
    """The wheel holds src/oddarm alone, which neither contains nor imports the evaluation."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["src/oddarm"]
    shipped = {path.stem for path in (ROOT / "src" / "oddarm" / "datasets").glob("*.py")}
    assert shipped == {"__init__", "bundled", "synthetic"}
    assert not any(name.startswith("reproduction") for name in imported(ROOT / "src" / "oddarm"))


def test_the_evaluation_uses_public_names():
    """The evaluation imports oddarm and its public modules, and nothing beneath them."""
    used = {name for name in imported(ROOT / "reproduction") if name.split(".")[0] == "oddarm"}
    assert used <= {"oddarm"} | {f"oddarm.{name}" for name in PUBLIC}
