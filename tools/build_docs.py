"""Build the documentation site into out/site, from the files that readers of the repository see.

The site has the pages of docs/, README.md as the first page, the changelog and other documents of
the project, the notebooks with what they print, the examples and the command line. They are laid
out in out/docs, and Zensical builds them as mkdocs.yml says. Nothing comes from the network.

Links between files become links between pages. A link to a file that is not on the site becomes
text, and a link to a file that does not exist is an error.
"""

from __future__ import annotations

import ast
import base64
import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
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
SESSION = re.compile(r"^```python\n>>>", re.MULTILINE)
CUT_SHORT = re.compile(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+")
EXAMPLES_OF_HELP = re.compile(r"(?:^(?:zcat .*\| )?oddarm .*\n\n?)+", re.MULTILINE)


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

    text = SESSION.sub(r"```pycon\n>>>", text)
    parts = groupby(lines_of(text), key=itemgetter(1))
    blocks = (("".join(line for line, _ in lines), code) for code, lines in parts)
    return "".join(block if code else LINK.sub(replaced, block) for block, code in blocks)


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
        client = NotebookClient(book, config=config, kernel_name="python3", timeout=300)
        client.execute(env=os.environ | {"IPYTHONDIR": folder})  # without settings of the user
    images = (PAGES / page).parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    parts = []
    for cell in book.cells:
        if cell.cell_type == "markdown":
            parts.append(f"{cell.source}\n")
            continue
        parts.append(fenced(cell.source, "python"))
        for number, output in enumerate(cell.outputs):
            image = images / f"{path.stem}-{cell.id}-{number}.png"
            parts.append(shown(output, cell.metadata.get("alt", "A picture"), image))
    parts.insert(1, f"*This page is the notebook `{file}`, run when the site was built.*\n")
    write(page, linked("\n".join(parts), file, page))


def shown(output: Any, alt: str, image: Path) -> str:
    """Return what a cell prints or draws, in the richest form that a page can show."""
    data = {"text/plain": output.text} if output.output_type == "stream" else output.data
    if "text/html" in data:
        block = data["text/html"]
    elif "image/png" in data:
        image.write_bytes(base64.b64decode(data["image/png"]))
        block = f'<img alt="{html.escape(alt)}" src="images/{image.name}">'
    else:
        block = f"<pre>{html.escape(data['text/plain'])}</pre>"
    return f'<div class="output">{block}</div>\n'


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
    text = CUT_SHORT.sub("", text)  # what each command does is said in full below

    def session(found: re.Match[str]) -> str:
        commands = [f"$ {line}" for line in found[0].splitlines() if line]
        return fenced("\n".join(commands), "console") + "\n"

    return EXAMPLES_OF_HELP.sub(session, text)


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
    place = SITE.relative_to(ROOT)
    print(f"The site is in {place}. Its search needs a server:")
    print(f"python3 -m http.server --bind 127.0.0.1 --directory {place}")


if __name__ == "__main__":
    main()
