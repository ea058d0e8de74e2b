"""What docs/architecture.md says of the code is so."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "src" / "oddarm"
DECISIONS = re.findall(
    r"^\*\*(.+?)\*\*(.*?)(?=^\*\*|\Z)", PAGE.split("## Decisions")[1], re.MULTILINE | re.DOTALL
)
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]


@pytest.mark.parametrize(("title", "text"), DECISIONS, ids=[title for title, _ in DECISIONS])
def test_every_decision_is_held_by_something_that_exists(title, text):
    """Each decision names tests or contracts of the linter that are there."""
    assert "*Held by: " in text, title
    held_by = text.split("*Held by: ")[1]
    names = re.findall(r"`(tests/[^`]+)`", held_by)
    quoted = re.findall(r'contract "([^"]+)"', held_by)
    assert names or quoted
    for name in names:
        path, _, function = name.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert not function or re.search(rf"^(async )?def {function}\(", source, re.MULTILINE), name
    assert {contract["name"] for contract in CONTRACTS} >= set(quoted)


def test_every_file_that_the_page_names_exists():
    """Paths in the text lead to files or folders of the package or of the repository."""
    paths = re.findall(r"`([\w/.]+/[\w.]*|[\w/]+\.(?:py|h))`", PAGE)
    assert len(paths) > 20
    for path in paths:
        assert (PACKAGE / path).exists() or (ROOT / path).exists(), path


def test_every_module_has_a_room():
    """The table of rooms has each module and folder of the package."""
    rows = re.findall(r"^\| (`.+?) \|", PAGE, re.MULTILINE)
    rooms = {name.rstrip("/") for row in rows for name in re.findall(r"`([\w/]+)`", row)}
    modules = {
        path.stem
        for path in PACKAGE.iterdir()
        if not path.name.startswith("_")
        and (path.suffix == ".py" or (path / "__init__.py").exists())
    }
    assert rooms == modules


def test_the_order_of_imports_is_that_of_the_contract():
    """The rooms that the text puts in order stand in that order in the linter's layers."""
    layers = [layer.split(" | ") for layer in CONTRACTS[0]["layers"]]
    place = {name: k for k, layer in enumerate(layers) for name in layer}
    text = re.search(r"Imports point one way: (.+?)\. `make lint`", PAGE, re.DOTALL)[1]
    steps = [re.findall(r"\w+", step) for step in text.split("→")]
    places = [max(place[name] for name in step) for step in steps]
    assert places == sorted(places)


def test_every_module_says_its_purpose_in_a_line():
    """Every module of the package begins with a sentence that ends in its first line."""
    for path in PACKAGE.rglob("*.py"):
        first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[
            0
        ]
        assert path.stem == "_version" or (first and first[-1] in ".:"), path


@pytest.mark.parametrize("module", ["search_core", "ledger", "store/draws"])
def test_names_stay_at_the_edge(module):
    """Rooms that work by index never look up the name of an arm, but to show it in an error."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    shown = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, (ast.JoinedStr, ast.Raise))
        for part in ast.walk(node)
    }
    looked_up = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "names" and id(node) not in shown
    ]
    assert looked_up == []


def test_few_parameters():
    """No function of the package has more than ten parameters, but those that users call."""
    public = {
        "__init__",
        "find",
        "find_async",
        "odd_samples",
        "resume",
        "simulate",
        "plan",
        "compare",
        "open_table",
        "scan",
        "create",
    }
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                arguments = node.args
                every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                names = [one.arg for one in every if one.arg not in ("self", "cls")]
                assert len(names) <= 10 or node.name in public, f"{path}:{node.lineno} {node.name}"
