# %% [markdown]
# # The server, from another process
#
# `edgeworth serve` keeps both games behind HTTP and WebSocket, and stores every step before it answers. `edgeworth.client` needs only the
# package `websockets`. Here the server is started and stopped by the example; in practice it runs elsewhere, and `RemoteGame` is all
# that a client needs.

# %%
from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator

from edgeworth.client import RemoteGame


@contextlib.contextmanager
def own_server(*flags: str) -> Iterator[str]:
    """The address of a server in a process of its own, on a free port of this machine."""
    words = [sys.executable, "-m", "edgeworth", "serve", "--port", "0", *flags]
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=folder) as server:
        try:
            lines = iter(server.stderr.readline, "")
            url = next(found[1] for line in lines if (found := re.search(r"serving on (http://\S+?);", line)))
            while not _is_ready(url):
                time.sleep(0.1)
            yield url
        finally:
            server.terminate()
            server.stderr.read()


def _is_ready(url: str) -> bool:
    try:
        return urllib.request.urlopen(f"{url}/ready", timeout=5).status == 200
    except OSError:
        return False


# %% [markdown]
# A market, designed by the server's own designer, and a negotiation that another connection takes up in the middle:

# %%
if __name__ == "__main__":
    with own_server("--no-openenv") as url:
        with RemoteGame(url, "auction") as market:
            reply = market.reset(seed=7, stage=3, n_agents=8, episode_length=3)
            while not reply.done:
                design = market.design(reply.observation)
                reply = market.step(design["mechanism"])
                print(f"{design['mechanism']['auction_type']:13} R {reply.reward:.3f}")

        with RemoteGame(url, "bargaining") as first:
            opening = first.reset(seed=7, opens="agent")
            first.step({"act_type": 0, "oA": opening.observation["counts"]})
            name = first.session_id
            with RemoteGame(url, "bargaining", session_id=name) as second:
                print(f"\ntaken up by name after {second.state()['step_count']} step: {second.state()['options']}")
                end = second.step({"act_type": 2, "oA": [0, 0, 0]})
                print(f"{end.info['end_reason']}: {end.reward:g} points")
