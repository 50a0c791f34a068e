"""Distributions of the package as its users get them, and environments that hold nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNSET = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "NUMBA_CACHE_DIR"}
CLEAN = {name: value for name, value in os.environ.items() if name not in UNSET}
"""The environment variables, without those that would lead back to this checkout."""


def built(folder: Path, kind: str, root: Path = ROOT) -> Path:
    """The wheel or the sdist, built by the declared backend in a folder."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder, "-t", kind], cwd=root, env=CLEAN, check=True, timeout=300)
    return next(folder.glob("*.whl" if kind == "wheel" else "*.tar.gz"))


def interpreter(version: str) -> Path | None:
    """An interpreter of this version, this one or another of the machine."""
    if sys.version_info[:2] == tuple(int(part) for part in version.split(".")):
        return Path(sys.executable)
    candidates = [shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    return next((Path(found) for found in candidates if found and _runs(found)), None)


def _runs(found: str | Path) -> bool:
    return subprocess.run([found, "-c", "import venv, ensurepip"], capture_output=True, timeout=60).returncode == 0


class EmptyEnvironment:
    """A virtual environment of its own with a folder of its own to work in, far from the checkout."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.bin, self.work = folder / "env" / "bin", folder / "work"
        self.work.mkdir(parents=True)
        subprocess.run([python, "-m", "venv", folder / "env"], env=CLEAN, check=True, timeout=300)

    def install(self, *requirements: str) -> None:
        """Install from the package index, or wherever pip is told to look."""
        subprocess.run([self.bin / "pip", "install", "--quiet", *requirements], env=CLEAN, check=True, timeout=1800)

    def run(self, *words: str, seconds: float = 600) -> subprocess.CompletedProcess[str]:
        """The outcome of a program of the environment."""
        return subprocess.run([self.bin / words[0], *words[1:]], cwd=self.work, env=CLEAN, capture_output=True, text=True, timeout=seconds)

    def printed(self, *words: str, seconds: float = 600) -> str:
        """What a program of the environment prints, once it succeeded."""
        done = self.run(*words, seconds=seconds)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout
