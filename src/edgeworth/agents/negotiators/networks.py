"""The networks in the box that have a name of their own: the clone of people, and the agent that learnt by self-play.

Each was trained in one game and plays every game with the same largest count of a type. Beside each is a card with its command, seeds and
scores.
"""

from __future__ import annotations

from pathlib import Path

from edgeworth.agents.negotiators.boxed import FOLDER
from edgeworth.agents.negotiators.learned import Learned
from edgeworth.errors import DataError
from edgeworth.runlog import SUFFIX

BOX = FOLDER.parent
TRAINED_BY = {
    "human_clone": "edgeworth clone --data FOLDER --box {}",
    "self_play": "edgeworth self-play --box {}",
}
"""By name in the box: the command that puts it there."""


def in_box(name: str, box: Path = BOX) -> Path:
    """The checkpoint of a network in the box; one that is not there is named with the command that trains it."""
    path = box / name
    if not path.with_name(name + SUFFIX).is_file():
        raise DataError(path, f"the network {name!r} is not in the box; `{TRAINED_BY[name].format(path)}` trains it and puts it there.")
    return path


def human_clone(sampled: bool = True, hint: str | None = None) -> Learned:
    """Does as people did; its moves are drawn, since people are not all alike."""
    return Learned(in_box("human_clone"), sampled, hint)


def self_play(sampled: bool = False, hint: str | None = None) -> Learned:
    """Plays what it learnt against itself and its past selves."""
    return Learned(in_box("self_play"), sampled, hint)
