"""The compile cache: never stale, and of use in an install that nobody may write to."""

from __future__ import annotations

import ast
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgeworth import compiled
from edgeworth.config import config_folder

PACKAGE = compiled.PACKAGE
COMPILED = [path for path in sorted(PACKAGE.rglob("*.py")) if compiled.USES_THIS_MODULE in path.read_bytes()]


def file_of(module: str) -> Path:
    return PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")


def constants_read(path: Path) -> set[Path]:
    """The files whose constants (names in capitals) a compiled file bakes in."""
    imports = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]
    return {
        file_of(node.module)
        for node in imports
        if node.module and node.module.startswith("edgeworth.") and any(alias.name.isupper() for alias in node.names)
    }


PARTS = {"games/auction": "rules.py", "games/bargaining": "rules.py", "agents/network": "layers.py", "training/fused": "rollout.py"}
"""The parts of the package in which something is compiled, and a file of each."""
CONSTANTS = sorted({found for path in COMPILED for found in constants_read(path)} - set(COMPILED))


def stamp_of(package: Path, monkeypatch: pytest.MonkeyPatch, source: str = "games/bargaining/rules.py") -> str:
    monkeypatch.setattr(compiled, "PACKAGE", package)
    return compiled.rules_stamp.__wrapped__(compiled.part_of(Path(source)))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the sources that may be changed."""
    shutil.copytree(PACKAGE, tmp_path / "edgeworth", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "edgeworth"


# The stamp


def test_a_copy_of_the_sources_has_the_same_stamp(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stamp_of(package, monkeypatch) == compiled.rules_stamp("games/bargaining")


@pytest.mark.parametrize("source", [path.relative_to(PACKAGE).as_posix() for path in COMPILED])
def test_changing_a_compiled_file_changes_the_stamp(package: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stamp_of(package, monkeypatch, source)
    (package / source).write_text((package / source).read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert stamp_of(package, monkeypatch, source) != before


@pytest.mark.parametrize("source", [path.relative_to(PACKAGE).as_posix() for path in CONSTANTS])
def test_changing_a_constant_that_is_compiled_in_changes_the_stamp(package: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stamp_of(package, monkeypatch, source)
    (package / source).write_text((package / source).read_text(encoding="utf-8") + "CHANGED = 1\n", encoding="utf-8")
    assert stamp_of(package, monkeypatch, source) != before


@pytest.mark.parametrize(
    "source", ["evaluation/story.py", "evaluation/sale_facts.py", "envs/designed_markets.py", "agents/designers/design_prompt.py"]
)
def test_changing_a_sentence_about_the_market_keeps_the_stamp_of_its_rules(
    package: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stamp_of(package, monkeypatch, "games/auction/rules.py")
    (package / source).write_text((package / source).read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert stamp_of(package, monkeypatch, "games/auction/rules.py") == before


def test_changing_a_file_that_has_nothing_to_do_with_the_rules_keeps_the_stamp(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stamp_of(package, monkeypatch)
    (package / "errors.py").write_text("# changed\n", encoding="utf-8")
    assert stamp_of(package, monkeypatch) == before


def test_renaming_a_compiled_file_changes_the_stamp(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stamp_of(package, monkeypatch)
    (package / "seeding.py").rename(package / "sowing.py")
    assert stamp_of(package, monkeypatch) != before


def test_a_change_in_one_game_does_not_build_the_other_anew(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stamp_of(package, monkeypatch), stamp_of(package, monkeypatch, "games/auction/rules.py")
    changed = package / "games" / "auction" / "pricing.py"
    changed.write_text(changed.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    after = stamp_of(package, monkeypatch), stamp_of(package, monkeypatch, "games/auction/rules.py")
    assert after[0] == before[0] and after[1] != before[1]


def test_the_trainer_is_built_anew_when_its_game_changes_and_no_game_when_the_trainer_does(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {name: f"{name}/{file}" for name, file in PARTS.items()}
    before = {name: stamp_of(package, monkeypatch, source) for name, source in parts.items()}
    for changed, rebuilt in {
        "games/auction": {"games/auction"},
        "training/fused": {"training/fused"},
        "agents/network": {"agents/network", "training/fused"},
        "games/bargaining": {"games/bargaining", "agents/network", "training/fused"},
    }.items():
        source = package / parts[changed]
        source.write_text(source.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
        after = {name: stamp_of(package, monkeypatch, path) for name, path in parts.items()}
        assert {name for name in parts if after[name] != before[name]} == rebuilt
        before = after


# A read-only install


PLAY = """
import json, sys
import edgeworth
from edgeworth.envs.negotiation import NegotiationEnv
from edgeworth.games.bargaining import rules

env = NegotiationEnv(opens="agent")
observation, _ = env.reset(seed=7)
env.step({"act_type": 0, "oA": observation["counts"]})
reward = env.step({"act_type": 2, "oA": (0, 0, 0)})[1]
stats = [function.stats for function in vars(rules).values() if hasattr(function, "stats")]
hits, misses = (sum(sum(getattr(s, name).values()) for s in stats) for name in ("cache_hits", "cache_misses"))
print(json.dumps({"file": edgeworth.__file__, "reward": reward, "hits": hits, "misses": misses}))
"""

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24


def obey_file_modes() -> None:
    """Let root, too, be stopped by a folder that nobody may write to."""
    if os.geteuid() == 0:
        prctl = ctypes.CDLL(None).prctl
        if any(prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH)):
            raise PermissionError("cannot give up the right to write everywhere")


def set_writable(folder: Path, writable: bool) -> None:
    for path in [folder, *folder.rglob("*")]:
        mode = path.stat().st_mode & 0o777
        path.chmod(mode | 0o200 if writable else mode & 0o555)


@pytest.fixture
def site() -> Iterator[Path]:
    """A folder for an install, with a home folder beside it, both made read-only before use."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "home").mkdir()
    yield folder
    set_writable(folder, True)
    shutil.rmtree(folder)


def install(site: Path, with_cache: bool) -> None:
    kept_out = shutil.ignore_patterns() if with_cache else shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, site / "edgeworth", ignore=kept_out)
    if not (site / "edgeworth" / "configs").exists():
        shutil.copytree(config_folder(), site / "edgeworth" / "configs")
    set_writable(site, False)


def play_in(site: Path, **environment: str) -> dict[str, Any]:
    """What an episode played from an install says of itself."""
    settings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "HOME": str(site / "home"), **environment}
    try:
        done = subprocess.run(
            [sys.executable, "-B", "-c", PLAY], env=settings, cwd=site, capture_output=True, text=True, preexec_fn=obey_file_modes
        )
    except subprocess.SubprocessError:
        pytest.skip("root cannot be kept from writing here")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["file"] == str(site / "edgeworth" / "__init__.py")
    return told


def files_in(site: Path) -> set[str]:
    return {str(path) for path in site.rglob("*")}


def test_a_read_only_install_uses_the_rules_that_were_compiled_before(site: Path) -> None:
    subprocess.run([sys.executable, "-c", PLAY], check=True, capture_output=True)  # fills the cache beside the sources
    install(site, with_cache=True)
    before = files_in(site)
    told = play_in(site)
    assert told["hits"] > 0 and told["misses"] == 0
    assert files_in(site) == before


def test_an_install_with_neither_cache_nor_a_folder_to_write_to_compiles_and_plays(site: Path) -> None:
    install(site, with_cache=False)
    before = files_in(site)
    told = play_in(site, NUMBA_OPT="0")
    assert told["hits"] == 0
    assert files_in(site) == before
