"""What is handed to users: the wheel's files and terms, and both games in an environment that holds nothing else."""

from __future__ import annotations

import json
import re
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
import yaml
from empty_environments import ROOT, EmptyEnvironment, built, interpreter

from edgeworth import __version__
from edgeworth.errors import MissingExtra

VERSIONS = ("3.11", "3.12", "3.13")
BOTH_GAMES = """
import gymnasium, edgeworth

for name in ("DealOrNoDialog-v0", "Daedalus-v0"):
    env = gymnasium.make(name)
    env.action_space.seed(7)
    env.reset(seed=7)
    print(name, env.step(env.action_space.sample())[1])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("dist"), "wheel")


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as files:
        return Parser().parsestr(files.read(f"edgeworth-{__version__}.dist-info/METADATA").decode())


def test_the_wheel_names_both_licences_and_holds_their_texts(wheel: Path) -> None:
    found = metadata(wheel)
    assert found["License-Expression"] == "Apache-2.0 AND CC-BY-NC-4.0" and found.get_all("License-File") == ["LICENSE", "NOTICE"]
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "human_clone.safetensors" in notice and "https://creativecommons.org/licenses/by-nc/4.0/" in notice


def test_the_wheel_holds_the_bundled_files_and_nothing_of_the_workshop(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {"configs/ppo_fast.yaml", "configs/scenarios/classic.yaml", "checkpoints/human_clone.safetensors", "py.typed"}
    assert {f"edgeworth/{name}" for name in wanted} <= names
    assert {name.partition("/")[0] for name in names} == {"edgeworth", f"edgeworth-{__version__}.dist-info"}
    assert not [name for name in names if re.search(r"__pycache__|\.nb[ic]$", name)]


def test_the_wheel_has_the_size_that_the_page_says(wheel: Path) -> None:
    said = re.search(r"The wheel has (\d+) MB", (ROOT / "docs" / "install.md").read_text(encoding="utf-8"))
    assert said is not None and round(wheel.stat().st_size / 1e6) == int(said[1])


def test_the_wheel_is_for_the_versions_of_python_that_are_tried(wheel: Path) -> None:
    found = metadata(wheel)
    assert found["Requires-Python"] == "<3.14,>=3.11"
    assert [line[-4:] for line in found.get_all("Classifier", []) if line.startswith("Programming Language")] == list(VERSIONS)


def test_the_citation_has_the_version_and_the_licences_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == __version__ and citation["license"] == ["Apache-2.0", "CC-BY-NC-4.0"]
    assert citation["cff-version"] == "1.2.0" and citation["title"] and citation["authors"] and citation["message"]


def test_the_command_for_a_missing_extra_keeps_the_platforms_of_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["a==1; extra == 'x'", "b==2; (sys_platform != 'win32') and extra == 'x'", "c==3; extra == 'y'", "d==4"]
    monkeypatch.setattr("edgeworth.errors.requires", lambda name: lines)
    assert str(MissingExtra("It", "a", "x")).endswith("""install it with: pip install 'a==1' 'b==2; sys_platform != "win32"'""")


@pytest.mark.slow
def test_the_wheel_of_the_sdist_is_the_wheel_of_the_checkout(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(built(tmp_path / "sdist", "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    again = built(tmp_path / "again", "wheel", tmp_path / f"edgeworth-{__version__}")
    assert set(zipfile.ZipFile(again).namelist()) == set(zipfile.ZipFile(wheel).namelist())


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_both_games_run_from_the_wheel_alone(wheel: Path, tmp_path: Path, version: str) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"this machine has no Python {version}")
    place = EmptyEnvironment(tmp_path, python)
    place.install(str(wheel))
    assert place.printed("edgeworth", "--version").strip() == f"edgeworth {__version__}"
    played = place.run("python", "-c", BOTH_GAMES)
    assert played.stdout.split()[::2] == ["DealOrNoDialog-v0", "Daedalus-v0"] and played.stderr.startswith("Compiling the rules")
    assert "The deal is efficient" in place.printed("edgeworth", "demo", "--seed", "3")
    assert "R 0." in place.printed("edgeworth", "market", "--stage", "3", "--brief", "--steps", "2")
    for words, extra in ((["train", "--config", "ppo_fast"], "train"), (["serve"], "server"), (["hint", "--seed", "7"], "llm")):
        refused = place.run("edgeworth", *words)
        assert refused.returncode == 1 and re.search(rf"the extra `{extra}`\); install it with: pip install '", refused.stderr)


@pytest.fixture
def place(tmp_path: Path) -> EmptyEnvironment:
    """An empty environment of Python 3.11."""
    python = interpreter("3.11")
    if python is None:
        pytest.skip("this machine has no Python 3.11")
    return EmptyEnvironment(tmp_path, python)


@pytest.mark.slow
def test_the_command_of_an_error_installs_a_server_that_answers(wheel: Path, place: EmptyEnvironment) -> None:
    place.install(str(wheel))
    command = place.run("edgeworth", "serve").stderr.partition("pip install ")[2]
    place.install(*re.findall(r"'([^']+)'", command))
    code = (
        "from fastapi.testclient import TestClient; from edgeworth.server.app import create_app;"
        " from edgeworth.server.settings import ServerSettings; import json;"
        " client = TestClient(create_app(ServerSettings(store='sqlite:///s.sqlite')), base_url='http://localhost').__enter__();"
        " print(json.dumps(client.post('/reset', json={'seed': 7}).json()))"
    )
    place.install("httpx")
    assert json.loads(place.printed("python", "-c", code))["observation"]["round_number"] == 0


@pytest.mark.slow
def test_a_negotiator_is_trained_with_the_extra_by_the_name_of_its_settings(wheel: Path, place: EmptyEnvironment) -> None:
    place.install(f"{wheel}[train]")
    place.printed("edgeworth", "train", "--config", "ppo_fast", "--steps", "100000", "--out", "first")
    scores = json.loads(place.printed("edgeworth", "evaluate", "--agent", "first", "--episodes", "200", "--json"))
    assert scores and (place.work / "first").is_dir()
