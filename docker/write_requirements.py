"""Write the exact versions that the image installs, from the current environment: `python docker/write_requirements.py`.

`requirements.txt` is the server without OpenEnv, `requirements-openenv.txt` what OpenEnv adds, `requirements-torch.txt` what torch adds.
The image installs exactly these packages, without resolving dependencies.
"""

from __future__ import annotations

import importlib.metadata
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).resolve().parent
PLATFORM = {"extra": "", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
LEARNED = ("torch", "safetensors", "scipy")
Pins = dict[str, str]


def pins(requirements: Iterable[str]) -> Pins:
    """The requirements and their dependencies, with the versions installed here."""
    found: Pins = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(line), extra) for line in requirements for extra in ("", *Requirement(line).extras)]
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        distribution = importlib.metadata.distribution(name)
        found[name] = distribution.version.partition("+")[0]
        for line in distribution.requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({**PLATFORM, "extra": extra}):
                waiting += [(needed, inner) for inner in ("", *needed.extras)]
    return found


def written(name: str, title: str, found: Pins) -> None:
    """Write one file of pinned versions."""
    lines = [f"# {title}; written by write_requirements.py.", *(f"{package}=={version}" for package, version in sorted(found.items()))]
    (HERE / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Write all three files."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    server = [*project["dependencies"], *project["optional-dependencies"]["server"]]
    light = pins(line for line in server if Requirement(line).name != "openenv")
    openenv = pins(line for line in server if Requirement(line).name == "openenv")
    torch = pins(line for line in project["optional-dependencies"]["train"] if Requirement(line).name in LEARNED)
    written("requirements.txt", "The server", light)
    written("requirements-openenv.txt", "What OpenEnv adds", without(openenv, light))
    written("requirements-torch.txt", "What learned agents add", without(torch, light))


def without(found: Pins, others: Pins) -> Pins:
    """Pins that are not among others."""
    return {package: version for package, version in found.items() if package not in others}


if __name__ == "__main__":
    sys.exit(main())
