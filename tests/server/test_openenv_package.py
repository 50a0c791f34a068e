"""What the environment is packed in: the manifest as OpenEnv's own tools judge it, and an image without loose ends."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import edgeworth
from edgeworth.catalog import load
from running_servers import served_in_thread

pytest.importorskip("openenv")

from openenv.validation.manifest import NormalizedManifest
from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
from openenv.validation.runner import run_validation
from openenv.validation.types import Level

from edgeworth.server.openenv_games import DaedalusOpenEnv

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = yaml.safe_load((ROOT / "openenv.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def copied(folder: Path) -> Path:
    """The files that the tool judges, where nobody writes while it reads."""
    for name in ("openenv.yaml", "Dockerfile", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_the_manifest_passes_the_static_checks(tmp_path: Path) -> None:
    report = run_validation(copied(tmp_path), max_level=Level.STATIC)
    assert report.verdict.value == "pass", [result.evidence for result in report.results]


def test_the_manifest_says_what_the_environment_has() -> None:
    manifest = OpenEnvYamlParser().parse(ROOT)
    assert isinstance(manifest, NormalizedManifest) and manifest.version == edgeworth.__version__
    market = DaedalusOpenEnv()
    declared = manifest.capabilities
    assert declared.declared_task_count == {split: market.num_tasks(split) for split in market.list_splits()}
    assert declared.rubric_tree == (market.rubric is not None) and declared.task_api
    assert callable(load(MANIFEST["app"]))


def pinned(name: str) -> dict[str, str]:
    lines = (ROOT / "docker" / name).read_text(encoding="utf-8").splitlines()
    wanted = [Requirement(line.partition(" --hash=")[0]) for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"==[^*]+", str(requirement.specifier)) for requirement in wanted)
    return {canonicalize_name(requirement.name): str(requirement.specifier)[2:] for requirement in wanted}


def test_the_image_installs_exact_versions_of_everything_that_the_server_needs() -> None:
    versions = pinned("requirements.txt") | pinned("requirements-openenv.txt")
    for line in [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["server"]]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), line
    assert "torch" not in versions and list(pinned("requirements-torch.txt")) == ["torch"]
    assert pinned("requirements-build.txt")["hatchling"] == Requirement(PROJECT["build-system"]["requires"][0]).specifier.__str__()[2:]


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-openenv.txt", "requirements-learned.txt", "requirements-build.txt"])
def test_the_image_installs_only_files_whose_hashes_are_known(name: str) -> None:
    lines = (ROOT / "docker" / name).read_text(encoding="utf-8").splitlines()[1:]
    assert lines and all(re.fullmatch(r"\S+==\S+( --hash=sha256:[0-9a-f]{64})+", line) for line in lines)
    assert f"--require-hashes -r docker/{name}" in DOCKERFILE


def test_the_health_check_asks_at_the_port_that_is_configured() -> None:
    check = DOCKERFILE.partition("HEALTHCHECK")[2].partition("ENTRYPOINT")[0]
    assert "EDGEWORTH_PORT" in check and "8000" not in check and "--port" not in DOCKERFILE.partition("ENTRYPOINT")[2]


def test_the_image_installs_nothing_that_is_not_listed() -> None:
    commands = re.sub(r"\\\n", " ", DOCKERFILE)
    installs = re.findall(r"pip (?:install|wheel)[^&;\n]*", commands)
    assert len(installs) >= 5
    for install in installs:
        assert "--no-deps" in install and ("-r docker/requirements" in install or "wheels" in install), install


def test_the_image_runs_as_nobody_special_and_looks_after_its_health() -> None:
    last_stage = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER 10001$", last_stage, re.MULTILINE) and "HEALTHCHECK" in last_stage and "/health" in last_stage
    assert "--insecure" not in last_stage.partition("ENTRYPOINT")[2]
    assert not re.search(r"^FROM \S+:latest", DOCKERFILE, re.MULTILINE)


def test_the_image_is_given_what_it_is_built_from() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")}
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    copied_in = {"docker" if part.startswith("docker/") else part for line in lines for part in line.split()}
    assert copied_in <= kept and all((ROOT / name).exists() for name in copied_in)
    built_from = {name.partition("/")[0] for name in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]}
    assert {"src", *built_from} <= copied_in


def test_the_old_package_is_not_installed() -> None:
    from edgeworth.server.routes_openenv import refuse_stale_openenv

    refuse_stale_openenv()


@pytest.mark.slow
def test_the_command_line_of_openenv_passes_folder_and_server(tmp_path: Path) -> None:
    tool, package = Path(sys.executable).with_name("openenv"), tmp_path / "package"
    package.mkdir()
    folder = subprocess.run([tool, "validate", copied(package), "--level", "static"], capture_output=True, text=True, timeout=120)
    assert folder.returncode == 0 and "Verdict: PASS" in folder.stdout
    with served_in_thread(tmp_path, openenv=True) as address:
        running = subprocess.run([tool, "validate", "--url", address], capture_output=True, text=True, timeout=120)
    assert running.returncode == 0 and "Verdict: PASS" in running.stdout
