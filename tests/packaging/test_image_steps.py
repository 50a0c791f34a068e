"""The Dockerfile, step by step without Docker: each instruction runs in a folder that stands for the image, and its server answers.

What differs from an image: the base is an interpreter of this machine, the stages share one root, and absolute paths lie in that
folder. The user is the image's own where the tests may become another user.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.server_process import free_port
from empty_environments import CLEAN, ROOT

DOCKERFILE = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
INSTRUCTIONS = [(word, rest.strip()) for word, rest in re.findall(r"^([A-Z]+) (.+)$", DOCKERFILE, re.MULTILINE)]
BECOMES_OTHERS = hasattr(os, "getuid") and os.getuid() == 0 and shutil.which("useradd") is not None


class Image:
    """The state of an image while its steps run."""

    def __init__(self, root: Path, base: Path) -> None:
        self.root, self.user = root, ""
        self.environment = {**CLEAN, "PATH": f"{root / 'base'}:{os.defpath}"}
        self.place = root
        self.commands: dict[str, list[str]] = {}
        (root / "base").mkdir()
        (root / "base" / "python").symlink_to(base)
        if BECOMES_OTHERS:
            (root / "etc").mkdir()

    def inside(self, text: str) -> str:
        """A text whose absolute paths lead into the root."""
        return re.sub(r"/(opt|build|data)(?=[/\s:]|$)", lambda found: f"{self.root}/{found[1]}", text)

    def take(self, word: str, rest: str) -> None:
        """Follow one instruction."""
        step = getattr(self, f"_{word.lower()}", None)
        assert step is not None, f"No way to follow {word} {rest}"
        step(rest)

    def _arg(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        self.environment.setdefault(name, value)

    def _from(self, rest: str) -> None:
        self.place = self.root

    def _env(self, rest: str) -> None:
        for part in shlex.split(self.inside(rest)):
            name, _, value = part.partition("=")
            self.environment[name] = re.sub(r"\$(\w+)", lambda found: self.environment[found[1]], value)

    def _workdir(self, rest: str) -> None:
        self.place = Path(self.inside(rest))
        self.place.mkdir(parents=True, exist_ok=True)

    def _copy(self, rest: str) -> None:
        *sources, target = rest.split()
        if sources[0].startswith("--from"):
            assert Path(self.inside(target)).is_dir(), f"no earlier stage wrote {target}"
            return
        for path in (found for source in sources for found in ROOT.glob(source)):
            goal = self.place / target / path.name if target.endswith("/") else self.place / target
            goal.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, goal, ignore=shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc", "*.egg-info"))
            else:
                shutil.copy(path, goal)

    def _run(self, rest: str) -> None:
        if rest.startswith("useradd"):
            self._add_user(rest)
        else:
            subprocess.run(["sh", "-ec", self.inside(rest)], cwd=self.place, env=self.environment, check=True, timeout=1800)

    def _add_user(self, command: str) -> None:
        if BECOMES_OTHERS:
            subprocess.run([*shlex.split(command), "--prefix", self.root], check=True, timeout=60)
        (self.root / "data").mkdir(exist_ok=True)

    def _user(self, rest: str) -> None:
        self.user = rest

    def _entrypoint(self, rest: str) -> None:
        self.commands["entry"] = json.loads(rest)

    def _healthcheck(self, rest: str) -> None:
        self.commands["health"] = json.loads(rest.partition("CMD")[2])

    def _volume(self, rest: str) -> None:
        assert Path(self.inside(rest)).is_dir()

    def _expose(self, rest: str) -> None:
        self.commands["port"] = [rest]

    def _stopsignal(self, rest: str) -> None:
        self.commands["stop"] = [rest]

    def start(self, command: str, port: int, **variables: str) -> subprocess.Popen[str]:
        """Start one of the image's commands as its user, with another port."""
        words, variables = self.commands[command], {"EDGEWORTH_PORT": str(port), **variables}
        who = {"user": int(self.user), "group": int(self.user), "extra_groups": []} if BECOMES_OTHERS else {}
        path = shutil.which(words[0], path=self.environment["PATH"])
        assert path is not None
        return subprocess.Popen(
            [path, *words[1:]], cwd=self.place, env={**self.environment, **variables}, stderr=subprocess.PIPE, text=True, **who
        )

    def healthy(self, port: int) -> bool:
        """Whether the health check passes."""
        check = self.start("health", port)
        check.communicate(timeout=60)
        return check.returncode == 0


def base_interpreter() -> Path:
    """An interpreter for the base of the image that its user, too, may run."""
    wanted = re.search(r"ARG PYTHON=(\d+\.\d+)", DOCKERFILE)
    assert wanted is not None
    for found in (Path(sys.base_prefix) / "bin" / f"python{wanted[1]}", Path(f"/usr/bin/python{wanted[1]}")):
        who = {"user": 10001, "extra_groups": []} if BECOMES_OTHERS else {}
        try:
            if subprocess.run([found, "-c", "import venv, ensurepip"], capture_output=True, timeout=60, cwd="/", **who).returncode == 0:
                return found
        except OSError:
            continue
    pytest.skip(f"this machine has no Python {wanted[1]} that every user may run")


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    """The image after all steps."""
    base = base_interpreter()
    with tempfile.TemporaryDirectory(prefix="image") as folder:
        Path(folder).chmod(0o755)
        made = Image(Path(folder), base)
        for word, rest in INSTRUCTIONS:
            made.take(word, rest)
        yield made


@pytest.mark.parametrize("file", sorted((ROOT / "docker").glob("requirements*.txt")), ids=lambda file: file.stem)
def test_every_version_in_the_image_is_exact_and_has_its_hashes_except_torch(file: Path) -> None:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    hashes = "" if file.stem == "requirements-torch" else r"( --hash=sha256:[0-9a-f]{64})+"
    assert lines and [line for line in lines if not re.fullmatch(rf"[a-z0-9.-]+==[0-9][^ ]*{hashes}", line)] == []
    installs = [step for word, rest in INSTRUCTIONS if word == "RUN" for step in rest.split("&&") if f"-r docker/{file.name}" in step]
    assert len(installs) == 1 and ("--require-hashes" in installs[0]) == bool(hashes) and "--no-deps" in installs[0]


@pytest.mark.slow
def test_the_image_s_server_becomes_healthy_as_a_user_without_rights_and_stops_when_told(image: Image) -> None:
    port = free_port()
    assert image.user == "10001" and not image.healthy(port)
    server = image.start("entry", port, EDGEWORTH_TOKENS="alice:0123456789abcdef", EDGEWORTH_BEHIND_PROXY="1")
    try:
        until = time.monotonic() + 120
        while not image.healthy(port) and server.poll() is None and time.monotonic() < until:
            time.sleep(0.5)
        assert server.poll() is None and image.healthy(port)
        if BECOMES_OTHERS:
            assert (image.root / "data" / "sessions.sqlite").stat().st_uid == int(image.user)
    finally:
        server.send_signal(signal.Signals[image.commands["stop"][0]])
        said = server.communicate(timeout=60)[1]
    assert server.returncode == 0, said
    assert "Compiling" not in said


@pytest.mark.slow
def test_the_image_s_server_refuses_to_start_without_tokens(image: Image) -> None:
    server = image.start("entry", free_port(), EDGEWORTH_TOKENS="")
    assert "--insecure" in server.communicate(timeout=120)[1] and server.returncode != 0
