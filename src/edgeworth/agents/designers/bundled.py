"""Bundled files: what was searched or fitted, one file per population and number of bidders.

How many bidders there are is public, so a designer uses what was found for that many. A file's name says for which population and which
number it is: `mechanisms/stage_3_n8.json`, `mechanisms/formats/stage_3_n8.json` (the best of each auction format),
`schedules/mixed_n8.json`, `checkpoints/adaptive_stages_n8.npz`. For a number in between, the nearest one's file serves, and a note says so.
"""

from __future__ import annotations

import contextlib
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edgeworth.config import config_folder
from edgeworth.errors import DataError, UnknownName
from edgeworth.games.auction.action import DaedalusAction, read_mechanism, read_mechanisms

POPULATIONS = ("0", "1", "2", "3", "4", "mixed", "stages")
"""The populations that something is bundled for."""
BIDDERS = (3, 5, 8, 12, 16)
"""The numbers of bidders that something is bundled for."""
USUAL_BIDDERS = 8
"""The number that is meant where none is known."""
CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
NUMBERED = re.compile(r"(?P<name>.+)_n(?P<bidders>\d+)")


class Bundled(NamedTuple):
    """A bundled file, and what is to be said where it was made for another number of bidders."""

    path: Path
    n_agents: int
    notes: tuple[str, ...] = ()


def mechanism_folder() -> Path:
    """Best constant mechanisms."""
    return config_folder() / "mechanisms"


def format_folder() -> Path:
    """The best constant mechanisms of each auction format, as lists, best first."""
    return mechanism_folder() / "formats"


def schedule_folder() -> Path:
    """Best schedules, as lists of mechanisms."""
    return config_folder() / "schedules"


def bundled_name(stage: str) -> str:
    """What the files of a population are called: `stage_3` for stage 3, else as the population."""
    return f"stage_{stage}" if stage.isdigit() else stage


def numbered(folder: Path, name: str, n_agents: int, ending: str = "json") -> Path:
    """Where the file of a name and a number of bidders is kept."""
    return folder / f"{name}_n{n_agents}.{ending}"


def bundled_names(folder: Path, ending: str = "json") -> list[str]:
    """The names that a folder holds files of, each once, whatever the number of bidders."""
    stems = (path.stem for path in folder.glob(f"*.{ending}"))
    return sorted({match["name"] if (match := NUMBERED.fullmatch(stem)) else stem for stem in stems})


def bundled_file(folder: Path, name: str, n_agents: int = USUAL_BIDDERS, ending: str = "json") -> Bundled | None:
    """The file of a name for the nearest number of bidders (of two, the smaller), if there is one; a file without a number fits all."""
    if (folder / f"{name}.{ending}").is_file():
        return Bundled(folder / f"{name}.{ending}", n_agents)
    found = (NUMBERED.fullmatch(path.stem) for path in folder.glob(f"{name}_n*.{ending}"))
    numbers = sorted(int(match["bidders"]) for match in found if match and match["name"] == name)
    if not numbers:
        return None
    nearest = min(numbers, key=lambda number: abs(number - n_agents))
    note = f"{name}: nothing is bundled for {n_agents} bidders, so what was found for {nearest} is used"
    return Bundled(numbered(folder, name, nearest, ending), nearest, () if nearest == n_agents else (note,))


def bundled_checkpoint(name: str, n_agents: int, command: str) -> Bundled:
    """The arrays of a name for the nearest number of bidders; `command` makes them where none are there."""
    bundled = bundled_file(CHECKPOINTS, name, n_agents, "npz")
    if bundled is None:
        raise DataError(numbered(CHECKPOINTS, name, n_agents, "npz"), f"is missing; `{command}` makes it in some minutes.")
    return bundled


@contextlib.contextmanager
def open_arrays(path: Path, what: str, command: str) -> Iterator[Mapping[str, Any]]:
    """The arrays in a file; while inside, whatever shows that it is not `what` becomes an error that names the command."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise DataError(path, f"is no {what}; `{command}` writes one.") from error


def mechanism_names() -> list[str]:
    """The bundled mechanisms, whatever the number of bidders."""
    return bundled_names(mechanism_folder())


def find_mechanism(name: str, n_agents: int = USUAL_BIDDERS) -> tuple[DaedalusAction, tuple[str, ...]]:
    """A bundled mechanism by name, or one from a JSON file by its path, and what is to be said of it."""
    if isinstance(name, str) and name.endswith(".json"):
        return read_mechanism(Path(name)), ()
    bundled = bundled_file(mechanism_folder(), name, n_agents) if name in mechanism_names() else None
    if bundled is None:
        raise UnknownName("mechanism", name, mechanism_names(), "the path of a JSON file")
    return read_mechanism(bundled.path), bundled.notes


def bundled_mechanism(name: str, n_agents: int = USUAL_BIDDERS) -> DaedalusAction:
    """A bundled mechanism by name for so many bidders, or one from a JSON file by its path."""
    return find_mechanism(name, n_agents)[0]


def find_schedule(name: str, n_agents: int) -> tuple[list[DaedalusAction], tuple[str, ...]]:
    """A bundled schedule by its population, or one from a JSON file by its path, and what is to be said of it."""
    if name.endswith(".json"):
        return read_mechanisms(Path(name)), ()
    bundled = bundled_file(schedule_folder(), bundled_name(name), n_agents)
    if bundled is None:
        raise UnknownName("schedule", name, bundled_names(schedule_folder()), "the path of a JSON file")
    return read_mechanisms(bundled.path), bundled.notes
