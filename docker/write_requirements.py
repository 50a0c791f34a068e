"""Write the exact versions that the image installs, from the current environment: `python docker/write_requirements.py`.

`requirements.txt` is the server without OpenEnv, `requirements-openenv.txt` what OpenEnv adds, `requirements-torch.txt` torch,
`requirements-learned.txt` what else learned agents add; `requirements-build.txt` keeps its versions. The image installs exactly these
packages, without resolving dependencies.

Every version has the hashes that the package index gives for the files which this interpreter could install, so run it with Python 3.11 on
Linux. torch has none: its wheels for the CPU come from another index, under another version.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import sys_tags
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

HERE = Path(__file__).resolve().parent
PLATFORM = {"extra": "", "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
LEARNED = ("torch", "safetensors", "scipy")
INDEX = "https://pypi.org/simple/{}/"
FILE = re.compile(r'href="[^"]*/([^"/#]+)#sha256=([0-9a-f]{64})"')
TAGS = frozenset(sys_tags())
BUILD = "requirements-build.txt"
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


def hashed(package: str, version: str) -> str:
    """A pin with the hashes of its wheels for this interpreter, or of its source where there is none."""
    with urllib.request.urlopen(INDEX.format(package), timeout=60) as answer:
        files = FILE.findall(answer.read().decode())
    wheels = [found for name, found in files if name.endswith(".whl") and _fits(name, version)]
    sources = [found for name, found in files if name.endswith(".tar.gz") and _is_source(name, version)]
    if not (wheels or sources):
        raise SystemExit(f"{package} {version} is not on the index.")
    return " ".join([f"{package}=={version}", *(f"--hash=sha256:{found}" for found in sorted(wheels or sources))])


def _fits(file: str, version: str) -> bool:
    try:
        _, found, _, tags = parse_wheel_filename(file)
    except ValueError:
        return False
    return found == Version(version) and not tags.isdisjoint(TAGS)


def _is_source(file: str, version: str) -> bool:
    try:
        return parse_sdist_filename(file)[1] == Version(version)
    except ValueError:
        return False


def written(name: str, title: str, found: Pins, hashes: bool = True) -> None:
    """Write one file of pinned versions."""
    pinned = sorted(found.items())
    with ThreadPoolExecutor(8) as pool:
        lines = list(pool.map(lambda pin: hashed(*pin) if hashes else "==".join(pin), pinned))
    (HERE / name).write_text("\n".join([f"# {title}; written by write_requirements.py.", *lines]) + "\n", encoding="utf-8")


def kept(name: str) -> Pins:
    """The versions in a file."""
    lines = [line.split()[0] for line in (HERE / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {package: version for package, _, version in (line.partition("==") for line in lines)}


def main() -> None:
    """Write all files."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    server = [*project["dependencies"], *project["optional-dependencies"]["server"]]
    light = pins(line for line in server if Requirement(line).name != "openenv")
    openenv = pins(line for line in server if Requirement(line).name == "openenv")
    learned = pins(line for line in project["optional-dependencies"]["train"] if Requirement(line).name in LEARNED)
    torch = {"torch": learned["torch"]}
    written("requirements.txt", "The server", light)
    written("requirements-openenv.txt", "What OpenEnv adds", without(openenv, light))
    written("requirements-learned.txt", "What learned agents add besides torch", without(learned, light | torch))
    written("requirements-torch.txt", "torch", torch, hashes=False)
    written(BUILD, "Build requirements, consistent with `requires` in pyproject.toml; versions by hand, hashes", kept(BUILD))


def without(found: Pins, others: Pins) -> Pins:
    """Pins that are not among others."""
    return {package: version for package, version in found.items() if package not in others}


if __name__ == "__main__":
    sys.exit(main())
