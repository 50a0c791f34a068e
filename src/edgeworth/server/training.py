"""A short training run that the server starts: one at a time, from our own settings, as a child process, written into the folder of runs.

It is `edgeworth train` with a configuration of ours and a bounded number of moves; no client names a file or a command. Only a server for
its own machine does that: without tokens, on a loopback address, and without the name or path of a proxy.

The child holds a lock on a file in the folder of runs for as long as it lives. So there is one training among all workers, and a server
that is killed and started again sees, and can cancel, what the former one started. A server that stops cancels its training, which saves.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from edgeworth.config import config_folder, scenario_names
from edgeworth.errors import UnknownName
from edgeworth.executor.local import ONE_THREAD
from edgeworth.files import write_json
from edgeworth.server.models_training import MOST_STEPS, TrainingRequest
from edgeworth.server.refusals import Refused
from edgeworth.server.settings import ServerSettings, is_loopback, secrets_hidden

if sys.platform != "win32":
    import fcntl

PRESETS = {"ppo_fast": "PPO, as we usually run it", "reinforce_fast": "REINFORCE, as we usually run it"}
"""Files in `configs/`, without suffix."""
LOCK, STATE, LOG = ".training.lock", ".training.json", ".training.log"
TRIES, BETWEEN_TRIES = 5, 0.02
"""Who looks at the lock holds it for a moment, which must not pass for a training."""
SAVING_SECONDS = 8.0
"""How long a training that is cancelled at the end of the server may take to save."""
MESSAGE_LENGTH = 400


class Training:
    """The training of a server, as one of its workers sees it."""

    def __init__(self, settings: ServerSettings) -> None:
        self.folder = Path(settings.runs)
        shared = settings.tokens or settings.insecure or settings.behind_proxy or settings.hosts or settings.root_path
        self.local = sys.platform != "win32" and is_loopback(settings.host) and not shared
        self._child: subprocess.Popen[bytes] | None = None
        self._watcher: threading.Thread | None = None

    def overview(self) -> dict[str, Any]:
        """What can be started, and what was started last."""
        why = None if self.local else "This server is not for its own machine only (it has tokens, or a proxy or others can reach it)."
        presets = [{"name": name, "what": what} for name, what in PRESETS.items()]
        return {"available": self.local, "why": why, "presets": presets, "most_steps": MOST_STEPS, "current": self.current()}

    def current(self) -> dict[str, Any] | None:
        """The training that runs, or else the last one; None where there was none."""
        try:
            state: dict[str, Any] = json.loads((self.folder / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if state["status"] == "running" and not (self._watcher and self._watcher.is_alive()) and not self._is_held():
            state["status"] = "ended"  # whoever started it was killed meanwhile
        return state

    def start(self, request: TrainingRequest) -> dict[str, Any]:
        """Start a training, or refuse."""
        self._refuse_elsewhere()
        if request.scenario not in scenario_names():
            raise UnknownName("scenario", request.scenario, scenario_names())
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock() as lock:
            return self._begin(request, lock)

    def cancel(self) -> dict[str, Any]:
        """Tell the training to save and stop; without one, refuse."""
        self._refuse_elsewhere()
        state = self.current()
        if state is None or state["status"] != "running":
            raise Refused(404, "no_training", "No training is running.", "GET /trainings shows the last one.")
        write_json(self.folder / STATE, {**state, "cancelled": True})
        with suppress(ProcessLookupError):
            os.kill(state["pid"], signal.SIGTERM)
        return {**state, "cancelled": True}

    def close(self) -> None:
        """Cancel the training of this worker, if it still runs, and wait until it has saved."""
        if self._child is None or self._watcher is None or self._child.poll() is not None:
            return
        self.cancel()
        try:
            self._child.wait(SAVING_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
        self._watcher.join(SAVING_SECONDS)

    def _refuse_elsewhere(self) -> None:
        if not self.local:
            message = (
                "Training can be started only on a server for its own machine: without tokens, on a loopback address, without a proxy."
            )
            raise Refused(403, "not_local", message, "Start `edgeworth serve` on your own machine, or use `edgeworth train`.")

    def _begin(self, request: TrainingRequest, lock: IO[bytes]) -> dict[str, Any]:
        name = self._free_name(f"page_{request.preset}_{request.scenario}_seed{request.seed}")
        config = config_folder() / f"{request.preset}.yaml"
        words = ["train", "--config", str(config), "--scenario", request.scenario, "--seed", str(request.seed)]
        words += ["--steps", str(request.steps), "--out", str(self.folder / name)]
        with (self.folder / LOG).open("wb") as log, secrets_hidden():
            child = subprocess.Popen(
                [sys.executable, "-m", "edgeworth", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=[lock.fileno()],
                env={**os.environ, **ONE_THREAD},
            )
        facts = {"name": name, **request.model_dump(), "command": shlex.join(["edgeworth", *words]), "pid": child.pid, "began": time.time()}
        state = {**facts, "status": "running", "cancelled": False, "message": None}
        write_json(self.folder / STATE, state)
        self._child, self._watcher = child, threading.Thread(target=self._watch, args=(child, state), daemon=True)
        self._watcher.start()
        return state

    def _watch(self, child: subprocess.Popen[bytes], state: dict[str, Any]) -> None:
        """Wait for the end of a training, and write how it ended."""
        failed = child.wait() != 0
        cancelled = bool((self.current() or {}).get("cancelled"))
        status = "cancelled" if cancelled and failed else "failed" if failed else "finished"
        message = self._last_words() if status == "failed" else None
        write_json(self.folder / STATE, {**state, "cancelled": cancelled, "status": status, "message": message})

    def _last_words(self) -> str:
        text = (self.folder / LOG).read_text(encoding="utf-8", errors="replace").strip()
        return text[-MESSAGE_LENGTH:] or "It ended without a word."

    def _free_name(self, name: str) -> str:
        number, found = 1, name
        while (self.folder / found).exists():
            number += 1
            found = f"{name}_{number}"
        return found

    @contextmanager
    def _lock(self) -> Any:
        """The lock, which a child keeps that inherits the file; refused while another one has it."""
        with (self.folder / LOCK).open("ab") as file:
            for left in reversed(range(TRIES)):
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if not left:
                        raise Refused(409, "busy", "A training is running.", "Wait for its end, or cancel it.") from None
                    time.sleep(BETWEEN_TRIES)
            yield file

    def _is_held(self) -> bool:
        """Whether a child holds the lock."""
        try:
            with (self.folder / LOCK).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False
