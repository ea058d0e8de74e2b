"""Build the documentation site into out/site, from the files that readers of the repository see.

The site has the pages of docs/, README.md as the first page, the changelog and other documents of
the project, the notebooks with what they print, the examples and the command line. They are laid out
in out/docs, and Zensical builds them as mkdocs.yml says. Nothing comes from the network.

Links between files become links between pages. A link to a file that is not on the site becomes
text, and a link to a file that does not exist is an error.
"""

from __future__ import annotations

import ast
import base64
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out"
PAGES = OUT / "docs"
SITE = OUT / "site"

OF_THE_PROJECT = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Documents beside docs/, and their pages."""
EXAMPLES = "examples.md"
COMMAND_LINE = "reference/command-line.md"

FENCE = re.compile(r"^ *(```+|~~~+)")
LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^()\s]+)\)")
PRIVATE_NAME = re.compile(r"\._")
CODE_NAME = re.compile(r"(?<![\[`])`(oddarm(?:\.\w+)+)`(?![\]`])")


class BrokenLinkError(Exception):
    """A file links to another one that does not exist."""


def page_of(path: PurePosixPath) -> str | None:
    """Return the page that a file of the repository becomes, with its anchor, if it becomes one."""
    name = str(path)
    if name in OF_THE_PROJECT:
        return OF_THE_PROJECT[name]
    if name == "examples":
        return EXAMPLES
    if path.parent.name == "examples" and path.suffix in (".py", ".sh"):
        return f"{EXAMPLES}#{path.name.replace('.', '')}"
    if path.parts[0] == "docs" and path.suffix != ".html":
        return str(path.relative_to("docs")).replace(".ipynb", ".md")
    return None


def linked(text: str, file: str, page: str) -> str:
    """Return the text of a page, with links to pages in place of links to files.

    Args:
        text: Markdown.
        file: Where it lies in the repository, from its root.
        page: The page that it becomes.

    Raises:
        BrokenLinkError: It links to a file that does not exist.
    """

    def replaced(match: re.Match[str]) -> str:
        image, label, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        place, _, anchor = target.partition("#")
        path = PurePosixPath(os.path.normpath(PurePosixPath(file).parent / place))
        if not (ROOT / path).exists():
            raise BrokenLinkError(f"{file} links to {target}, which does not exist.")
        there = page_of(path)
        if there is None:
            return label
        if anchor:
            there = f"{there}#{anchor}"
        return f"{image}[{label}]({os.path.relpath(there, PurePosixPath(page).parent)})"

    return "".join(
        line if code else LINK.sub(replaced, line) for line, code in lines_of(text)
    )


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a Markdown text, and whether each belongs to a block of code."""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        if fence:
            yield line, True
            if mark and line.strip() == fence:
                fence = ""
        else:
            fence = mark[1] if mark else ""
            yield line, bool(mark)


def write(page: str, text: str) -> None:
    """Write a page."""
    path = PAGES / page
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def fenced(code: str, language: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{code.rstrip()}\n```\n"


def notebook_page(path: Path) -> None:
    """Run a notebook and write it as a page, with what its cells print and draw."""
    file = path.relative_to(ROOT).as_posix()
    page = page_of(PurePosixPath(file))
    assert page is not None
    book = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder:  # for sockets: the kernel listens at no port
        config = Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"})
        NotebookClient(book, config=config, kernel_name="python3", timeout=300).execute()
    images = PAGES / PurePosixPath(page).parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    parts = []
    for cell in book.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source + "\n")
            continue
        parts.append(fenced(cell.source, "python"))
        for number, output in enumerate(cell.outputs):
            image = images / f"{path.stem}-{cell.id}-{number}.png"
            parts.append(shown(output, cell.metadata.get("alt", "A picture"), image))
    text = "\n".join(parts)
    if path.parent == ROOT / "docs" / "notebooks":
        text = text.replace("\n", f"\n\n*This page is the notebook `{file}`, run when the site was built.*\n", 1)
    write(page, linked(text, file, page))


def shown(output: Any, alt: str, image: Path) -> str:
    """Return Markdown for an output of a cell, in the richest form that a page can show."""
    if output.output_type == "stream":
        return fenced(output.text, "text")
    data = output.data
    if "text/html" in data:
        html = re.sub(r"\n\s*\n", "\n", data["text/html"])  # a blank line would end it
        return f'<div class="output">{html}</div>\n'
    if "image/png" in data:
        image.write_bytes(base64.b64decode(data["image/png"]))
        return f"![{alt}](images/{image.name})\n"
    return fenced(data["text/plain"], "text")


def examples_page(scripts: Iterable[Path]) -> str:
    """Return a page with every example: what it is for, and its code."""
    parts = [
        "# Examples\n",
        "Whole scripts to copy and change. Each one runs as it is, in the folder `examples`.\n",
    ]
    for path in scripts:
        code = path.read_text(encoding="utf-8")
        parts.append(f"## {path.name}\n")
        if path.suffix == ".py":
            tree = ast.parse(code)
            parts.append(f"{ast.get_docstring(tree)}\n")
            code = "".join(code.splitlines(keepends=True)[tree.body[0].end_lineno :]).lstrip("\n")
        parts.append(fenced(code, "python" if path.suffix == ".py" else "sh"))
    return "\n".join(parts)


def command_line_page() -> str:
    """Return a page with the help of every command."""
    command = [sys.executable, "-m", "typer", "oddarm.cli.app", "utils", "docs", "--name", "oddarm"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    text = text.replace("# `oddarm`\n", "# The command line\n", 1)
    examples = re.compile(r"(?:^(?:zcat .*\| )?oddarm .*\n\n?)+", re.MULTILINE)
    return examples.sub(lambda found: fenced(re.sub("^", "$ ", found[0].replace("\n\n", "\n").rstrip(), flags=re.M), "console") + "\n", text)


def lay_out() -> None:
    """Write all pages, and copy what they show, into out/docs."""
    shutil.rmtree(PAGES, ignore_errors=True)
    docs = ROOT / "docs"
    for path in sorted((*docs.rglob("*"), *(ROOT / name for name in OF_THE_PROJECT))):
        file = path.relative_to(ROOT)
        page = page_of(PurePosixPath(file.as_posix()))
        if page is None or path.is_dir():
            continue
        if path.suffix == ".md":
            write(page, linked(path.read_text(encoding="utf-8"), file.as_posix(), page))
        elif path.suffix != ".ipynb":
            (PAGES / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, PAGES / page)
    write(EXAMPLES, examples_page(sorted(ROOT.glob("examples/*.[ps][yh]"))))
    write(COMMAND_LINE, command_line_page())
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(notebook_page, sorted(docs.glob("notebooks/*.ipynb"))))


def main() -> None:
    """Build the site; end with its messages and exit code 1 if anything is wrong with it."""
    try:
        lay_out()
    except BrokenLinkError as error:
        raise SystemExit(f"build_docs: {error}") from None
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if built.returncode:
        raise SystemExit(built.stdout + built.stderr)
    print(f"The site is at {(SITE / 'index.html').relative_to(ROOT)}")


if __name__ == "__main__":
    main()
