"""Link names of oddarm in code spans to the reference: an extension of Markdown for mkdocs.yml.

`oddarm.find` becomes a link, and so does `Search.ask`, on every page and in every docstring. A name
that the reference does not have stays as it is.
"""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

import oddarm

NAME = re.compile(r"(?:oddarm\.)?[A-Za-z_]\w*(?:\.\w+)*")
NOT_IN = {"a", "autoref", "pre", "h1", "h2", "h3", "h4", "h5", "h6"}


@cache
def classes() -> dict[str, str]:
    """Return the full name of every public class by its short name."""
    found = {}
    for name in oddarm.__all__:
        home = getattr(oddarm, name)
        if isinstance(home, ModuleType):
            found |= {one: f"oddarm.{name}.{one}" for one in home.__all__ if one[0].isupper()}
    return found | {name: f"oddarm.{name}" for name in oddarm.__all__ if name[0].isupper()}


def full_name(code: str) -> str | None:
    """Return the full name of what a code span names, if it may be in the reference."""
    if not NAME.fullmatch(code):
        return None
    if code.startswith("oddarm."):
        return code
    first, *rest = code.split(".")
    home = classes().get(first)
    return home and ".".join((home, *rest))


class CodeLinks(Treeprocessor):
    """Puts code spans with names of oddarm into links that may lead nowhere."""

    def run(self, root: Element) -> None:
        """Change the tree of a page or of a docstring."""
        for place, child in enumerate(root):
            if child.tag == "code" and (name := full_name(child.text or "")):
                link = Element("autoref", {"identifier": name, "optional": ""})
                link.append(child)
                link.tail, child.tail = child.tail, None
                root[place] = link
            elif child.tag not in NOT_IN:
                self.run(child)


class CodeLinksExtension(Extension):
    """The extension that mkdocs.yml names."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Look at the tree after spans have been found in it."""
        md.treeprocessors.register(CodeLinks(md), "code_links", 15)


def makeExtension(**options: object) -> CodeLinksExtension:  # noqa: N802
    """Return the extension, as Markdown asks for it."""
    return CodeLinksExtension(**options)
