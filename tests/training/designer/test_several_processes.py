"""Two processes train one model together, as `accelerate launch` starts them on several GPUs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

from edgeworth.runlog import read_history

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
SMALL = (
    "markets.players=[adaptive]",
    "markets.n_agents=[4]",
    "markets.episode_lengths=[3]",
    "states=12",
    "generations=2",
    "beta=0",
    "validation={every: 1, episodes: 1, populations: [stages]}",
    "reward={draws: 2, horizon: 1}",
    "optimization={steps: 1, batch: 2, accumulation: 4, log_every: 1, save_every: 1}",
)


def test_two_cpu_processes_train_one_model(qwen: Path, tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m", "edgeworth"]
    changes = [word for change in SMALL for word in ("--set", change)]
    command = ["designer", "grpo", "--model", str(qwen), "--out", str(tmp_path / "run"), *changes, "--device", "cpu"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run([*launcher, *command], capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr[-3_000:]
    lines = read_history(tmp_path / "run")
    assert [(line["steps"], "loss" in line) for line in lines] == [(0, False), (1, False), (1, True)], "one process writes the history"
    assert (tmp_path / "run/model/card.json").is_file()
    assert lines[-1]["tokens"] > 4 * 1_000, "two completions of each process are counted, with their prompts of a thousand tokens"


def test_the_configuration_for_accelerate_uses_several_gpus() -> None:
    found = yaml.safe_load((CONFIGS / "accelerate_gpus.yaml").read_text())
    assert found["distributed_type"] == "MULTI_GPU" and found["num_processes"] > 1
