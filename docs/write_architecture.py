"""Draws docs/architecture.svg and writes the list of modules in docs/architecture.md.

The figure shows the packages with their sizes, and an arrow for every import between two of them; the list holds the first line of every
module's docstring. All of it comes from the source tree. A test compares, except for the sizes; `make docs` brings everything up to date.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "edgeworth"
FIGURE, PAGE = ROOT / "docs" / "architecture.svg", ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- modules: written by docs/write_architecture.py -->", "<!-- end -->"
LAYERS = ("games/bargaining", "games/auction", "dialogues", "envs", "agents", "training", "evaluation", "server", "cli")
"""The boxes from left to right; a package imports only from the boxes to its left and from the leaves."""
WIDTH, GAP, MARGIN = 104, 14, 20
BASE, LEAVES_TOP, TALLEST = 350, 420, 150
INK, LIGHT, FILL, ACCENT = "#222222", "#777777", "#dfe9ee", "#0b6e99"


def box_of(module: str) -> str:
    """The box that a dotted module name below `edgeworth` belongs to; a leaf is its own."""
    parts = module.split(".")
    name = "/".join(parts[:2]) if parts[0] == "games" else parts[0]
    return name if name in LAYERS else parts[0]


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, as dotted names below `edgeworth`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("edgeworth"):
            module = node.module.removeprefix("edgeworth").lstrip(".")
            found |= {f"{module}.{alias.name}".lstrip(".") for alias in node.names}
    return found


def measured() -> tuple[Counter[str], Counter[str], Counter[tuple[str, str]]]:
    """Lines and files of every box, and how many import statements lead from one box to another."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    arrows: Counter[tuple[str, str]] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        box = box_of(module)
        lines[box] += len(path.read_text(encoding="utf-8").splitlines())
        files[box] += 1
        arrows.update((box, other) for other in map(box_of, imported(path)) if other != box)
    return lines, files, arrows


def text(x: float, y: float, content: str, size: int = 12, colour: str = INK, weight: str = "normal") -> str:
    """A centred line of text."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" font-weight="{weight}" text-anchor="middle">{content}</text>'


def drawn() -> str:
    """The figure as SVG."""
    lines, files, arrows = measured()
    layers = [name for name in LAYERS if files[name]]
    centres = {name: MARGIN + WIDTH / 2 + number * (WIDTH + GAP) for number, name in enumerate(layers)}
    width = 2 * MARGIN + len(layers) * (WIDTH + GAP) - GAP
    tallest = max(lines[name] for name in layers)
    tops = {name: BASE - TALLEST * lines[name] / tallest for name in layers}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {LEAVES_TOP + 100}" font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{width:g}" height="{LEAVES_TOP + 100}" fill="white"/>',
        f'<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{ACCENT}"/></marker></defs>',
    ]
    for (importer, other), count in sorted(arrows.items()):
        if importer in centres and other in centres:
            start, end = centres[importer] - 10, centres[other] + 10
            height = min(tops[importer], tops[other]) - 30 - 0.25 * abs(start - end)
            curve = f"M{start:g},{tops[importer]:.1f} C{start:g},{height:.1f} {end:g},{height:.1f} {end:g},{tops[other] - 2:.1f}"
            stroke = f'stroke="{ACCENT}" stroke-width="{0.5 + count**0.5 / 3:.2f}" stroke-opacity="0.55"'
            parts.append(f'<path d="{curve}" fill="none" {stroke} marker-end="url(#head)"><title>{importer} imports {other}</title></path>')
    for name in layers:
        x, top = centres[name], tops[name]
        box = f'x="{x - WIDTH / 2:g}" y="{top:.1f}" width="{WIDTH}" height="{BASE - top:.1f}"'
        parts.append(f'<rect {box} fill="{FILL}" stroke="{INK}"/>')
        parts.append(text(x, BASE + 18, name, 12, INK, "bold"))
        parts.append(text(x, BASE + 34, f"{lines[name]:,} lines", 11, LIGHT))
        parts.append(text(x, BASE + 48, f"{files[name]} files", 11, LIGHT))
    leaves = sorted(
        (name for name in files if name not in LAYERS and lines[name] and not name.startswith("__")), key=lambda name: -lines[name]
    )
    frame = f'x="{MARGIN}" y="{LEAVES_TOP}" width="{width - 2 * MARGIN:g}" height="74"'
    parts.append(f'<rect {frame} fill="none" stroke="{LIGHT}" stroke-dasharray="4 3"/>')
    named = [f"{name}{f' ({files[name]} files)' if files[name] > 1 else ''} {lines[name]:,}" for name in leaves]
    half = (len(named) + 1) // 2
    parts.append(text(width / 2, LEAVES_TOP + 20, "leaves, open to every package (lines)", 12, INK, "bold"))
    parts.append(text(width / 2, LEAVES_TOP + 42, " · ".join(named[:half]), 12, LIGHT))
    parts.append(text(width / 2, LEAVES_TOP + 62, " · ".join(named[half:]), 12, LIGHT))
    total = f"{sum(lines.values()):,} lines in {sum(files.values())} files. An arrow: imports; the thicker, the more import statements."
    parts.append(text(width / 2, LEAVES_TOP + 92, total, 12, INK))
    return "\n".join([*parts, "</svg>", ""])


def module_list() -> str:
    """Every module with the first line of its docstring, folder by folder."""
    folders: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        header = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if header and path.name not in ("__init__.py", "__main__.py"):
            folder = path.parent.relative_to(PACKAGE.parent).as_posix()
            folders.setdefault(folder, []).append(f"- `{path.name}`: {header.splitlines()[0]}")
    return "\n\n".join("\n".join([f"**{folder}**", "", *lines]) for folder, lines in folders.items())


def page() -> str:
    """The page with its list of modules up to date."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{module_list()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    FIGURE.write_text(drawn(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
