"""`/docs`: every route as a page that needs no script, made of the OpenAPI description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

__all__ = ["reference_page"]

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Routes · oddarm</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="style.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><a class="home" href="./">oddarm</a></header>
<main id="main" tabindex="-1">
"""
INTRODUCTION = """<p>oddarm {version}. {summary}
<a href="openapi.json">The same for programs</a>, as OpenAPI.
A refusal is an object with one field, <code>error</code>: a sentence.</p>"""


def reference_page(schema: dict[str, Any]) -> str:
    """Return the page as HTML.

    Args:
        schema: The OpenAPI description.
    """
    routes = [
        (f"{method.upper()} {path}", operation)
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
    ]
    body = [
        "<h1>Routes</h1>",
        INTRODUCTION.format(**{key: escape(schema["info"][key]) for key in ("version", "summary")}),
        "<ul>",
        *(
            f'<li><a href="#{_anchor(name)}"><code>{escape(name)}</code></a></li>'
            for name, _ in routes
        ),
        "</ul>",
    ]
    for name, operation in routes:
        body += _operation(schema, name, operation)
    return HEAD + "\n".join(body) + "\n</main>\n</body>\n</html>\n"


def _anchor(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name).strip("-").lower()


def _operation(schema: dict[str, Any], name: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f'<section aria-labelledby="{_anchor(name)}">'
    yield f'<h2 id="{_anchor(name)}"><code>{escape(name)}</code></h2>'
    for paragraph in operation["description"].split("\n\n"):
        yield f"<p>{escape(paragraph)}</p>"
    role = operation.get("x-role")
    yield f"<p>{f'Least role: {escape(role)}.' if role else 'Open to all.'}</p>"
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    fields = [*_parameters(operation)]
    if content is not None:
        model = _named(schema, content["schema"])
        fields += [*_body_fields(schema, model)]
    if fields:
        yield from _field_table(fields)
    if content is not None:
        body = escape(_written(_named(schema, content["schema"])))
        yield f'<h3>A body</h3><pre tabindex="0">{body}</pre>'
    yield "<h3>Answers</h3>"
    yield "<ul>"
    for status, answer in operation["responses"].items():
        yield f"<li><strong>{escape(status)}</strong> {escape(answer['description'])}</li>"
    yield "</ul>"
    yield "</section>"


def _named(schema: dict[str, Any], reference: dict[str, Any]) -> dict[str, Any]:
    """Return a schema, or the one that it refers to."""
    if "$ref" not in reference:
        return reference
    found: dict[str, Any] = schema["components"]["schemas"][reference["$ref"].rpartition("/")[2]]
    return found


def _parameters(operation: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for each in operation.get("parameters", []):
        where = "in the address" if each["in"] == "path" else "after ? in the address"
        yield each["name"], _kind(each["schema"]), _default(each["schema"], each["required"]), where


def _body_fields(
    schema: dict[str, Any], model: dict[str, Any]
) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model.get("properties", {}).items():
        required = name in model.get("required", [])
        words = field.get("description", "")
        yield name, _kind(field, schema), _default(field, required), words


def _kind(field: dict[str, Any], schema: dict[str, Any] | None = None) -> str:
    """Return what a value may be, in a few words."""
    if "enum" in field:
        return " | ".join(json.dumps(value) for value in field["enum"])
    if "const" in field:
        return json.dumps(field["const"])
    if "anyOf" in field:
        return " | ".join(_kind(each, schema) for each in field["anyOf"])
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}), schema)}"
    return str(field.get("type", "any"))


def _default(field: dict[str, Any], required: bool) -> str:
    return "must be given" if required else json.dumps(field.get("default"))


def _written(model: dict[str, Any]) -> str:
    return "\n".join(json.dumps(example) for example in model.get("examples", [{}]))


def _field_table(fields: list[tuple[str, str, str, str]]) -> Iterator[str]:
    yield '<div class="wide-table" tabindex="0" role="region" aria-label="Fields"><table>'
    heads = ("Field", "Type", "Default", "Meaning")
    yield (
        "<thead><tr>" + "".join(f'<th scope="col">{head}</th>' for head in heads) + "</tr></thead>"
    )
    yield "<tbody>"
    for name, *cells in fields:
        row = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        yield f'<tr><th scope="row"><code>{escape(name)}</code></th>{row}</tr>'
    yield "</tbody></table></div>"
