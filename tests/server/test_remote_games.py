"""The light client on a real server: without OpenEnv, with and without async, over lines that break."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from designs import SANE
from edgeworth.client import AsyncRemoteGame, Place, RemoteGame, Reply
from edgeworth.errors import ServerRefused, UnknownName
from edgeworth.server.live import open_live
from edgeworth.server.openings import opening_of
from edgeworth.server.settings import SocketLimits
from running_servers import served, served_in_thread, wait_for

TOKENS = (("alice", "a-token-of-alice"), ("bob", "a-token-of-bobby"))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_in_thread(tmp_path_factory.mktemp("client")) as address:
        yield address


def test_the_client_loads_neither_openenv_nor_the_games() -> None:
    code = "import sys, edgeworth.client; print(' '.join({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"openenv", "fastapi", "numba", "gradio", "sqlalchemy", "torch"}.isdisjoint(loaded) and "websockets" in loaded


def test_a_remote_market_is_the_local_one(url: str) -> None:
    live = open_live(opening_of("auction", {"stage": 3, "episode_length": 3}, 7))
    with RemoteGame(url) as market:
        reply = market.reset(seed=7, stage=3, episode_length=3)
        assert reply.observation == live.observation() and reply.reward is None
        while not reply.done:
            reply, turn = market.step(SANE), live.step(SANE)
            assert (reply.observation, reply.reward, reply.done) == (turn.observation, turn.reward, turn.done)
        assert reply.info["end_reason"] == "episode_length"


def test_a_design_for_a_remote_market_knows_all_that_the_observation_shows(url: str) -> None:
    with RemoteGame(url) as market:
        reply = market.reset(seed=7, stage=4, n_agents=5, episode_length=4)
        while not reply.done:
            designed = market.design(reply.observation)
            assert not any("not given" in line for line in designed["assumed"])
            reply = market.step(designed["mechanism"])


def test_many_remote_talks_at_once(url: str) -> None:
    async def talk(seed: int) -> Reply:
        async with AsyncRemoteGame(url, "bargaining") as talks:
            await talks.reset(seed=seed, opens="agent")
            return await talks.step({"act_type": 0, "oA": [1, 0, 0]})

    async def together() -> list[Reply]:
        return await asyncio.gather(*(talk(seed) for seed in range(16)))

    for seed, reply in enumerate(asyncio.run(together())):
        turn = open_live(opening_of("bargaining", {"opens": "agent"}, seed)).step({"act_type": 0, "oA": [1, 0, 0]})
        assert (reply.observation, reply.reward) == (turn.observation, turn.reward)


def test_a_broken_line_is_taken_up_without_losing_a_step(url: str) -> None:
    game = RemoteGame(url)
    game.reset(seed=7)
    before = game.step(SANE)
    game._socket.socket.close()
    with pytest.raises(ConnectionError, match="take_up"):
        game.step(SANE)
    state = game.take_up()
    assert state["step_count"] in (1, 2)  # a step that was sent may have arrived
    assert game.step(SANE).observation["round_number"] == state["step_count"] + 1 > before.observation["round_number"]
    game.close()


def test_a_broken_async_line_is_taken_up_too(url: str) -> None:
    async def play() -> tuple[int, int]:
        async with AsyncRemoteGame(url) as game:
            await game.reset(seed=7)
            await game.step(SANE)
            assert game._socket is not None
            game._socket.transport.abort()
            with pytest.raises(ConnectionError, match="take_up"):
                await game.step(SANE)
            state = await game.take_up()
            return state["step_count"], (await game.step(SANE)).observation["round_number"]

    assert asyncio.run(play()) == (1, 2)


def test_what_the_server_refuses_arrives_as_an_error_with_its_parts(url: str) -> None:
    with RemoteGame(url) as game:
        game.reset(seed=7)
        with pytest.raises(ServerRefused, match="reserve_price is 5") as caught:
            game.step({**SANE, "reserve_price": 5})
        assert (caught.value.code, caught.value.field) == ("illegal_action", "reserve_price")
    with pytest.raises(ServerRefused, match="There is no session 'nobody'"):
        RemoteGame(url, session_id="nobody").state()
    with pytest.raises(UnknownName, match="'auction'"):
        RemoteGame(url, "auctoin")


def test_two_sockets_on_one_session_one_step_wins_and_the_other_is_told_the_state(url: str) -> None:
    with RemoteGame(url) as first:
        first.reset(seed=7, episode_length=400)
        conflicts, made = [], []

        def play(game: RemoteGame) -> None:
            for _ in range(100):
                try:
                    made.append(game.step(SANE).observation["round_number"])
                except ServerRefused as refused:
                    conflicts.append(refused.code)

        with RemoteGame(url, session_id=first.session_id) as second:
            threads = [threading.Thread(target=play, args=(game,)) for game in (first, second)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert sorted(made) == list(range(1, len(made) + 1)) and first.state()["step_count"] == len(made)
        assert set(conflicts) <= {"conflict"} and len(made) + len(conflicts) == 200


def test_goodbye_deletes_the_session_and_a_broken_line_does_not(url: str) -> None:
    names = []
    for polite in (True, False):
        game = RemoteGame(url)
        game.reset(seed=7)
        names.append(game.session_id)
        game.close() if polite else game._socket.socket.close()
    wait_for(lambda: [line["session_id"] for line in Place(url).ask("/sessions")["sessions"] if line["session_id"] in names] == names[1:])
    assert Place(url).ask(f"/state?session_id={names[1]}")["steps"] == 0


def test_owners_come_in_by_their_tokens_and_see_only_their_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    with served_in_thread(tmp_path_factory.mktemp("owners"), tokens=TOKENS) as address:
        with pytest.raises(Exception, match=r"40[13]"):
            RemoteGame(address)
        with RemoteGame(address, token="a-token-of-alice") as game:
            game.reset(seed=7)
            assert RemoteGame(address, token="a-token-of-alice", session_id=game.session_id).state()["step_count"] == 0
            with pytest.raises(ServerRefused, match="There is no session"):
                RemoteGame(address, token="a-token-of-bobby", session_id=game.session_id).state()


def test_one_socket_too_many_is_told_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    with served_in_thread(tmp_path_factory.mktemp("full"), sockets=SocketLimits(sockets=1)) as address, RemoteGame(address) as first:
        first.reset(seed=7)
        with pytest.raises(ServerRefused, match="holds 1 sockets") as caught:
            RemoteGame(address).state()
        assert caught.value.code == "server_full" and first.state()["step_count"] == 0


def test_a_silent_socket_is_closed_and_its_session_stays(tmp_path_factory: pytest.TempPathFactory) -> None:
    with (
        served_in_thread(tmp_path_factory.mktemp("idle"), sockets=SocketLimits(idle_seconds=3.0)) as address,
        RemoteGame(address) as game,
    ):
        game.reset(seed=7)
        for _ in range(4):  # who talks is not silent
            time.sleep(0.9)
            game.step(SANE)
        wait_for(lambda: "edgeworth_sockets 0.0" in httpx.get(f"{address}/metrics", timeout=20.0).text)
        with pytest.raises(ConnectionError, match="take_up"):
            game.step(SANE)
        assert game.take_up()["step_count"] == 4


def test_a_message_that_is_too_long_ends_the_line_and_not_the_session(url: str) -> None:
    with RemoteGame(url) as game:
        game.reset(seed=7)
        with pytest.raises(ConnectionError, match="take_up"):
            game.step({**SANE, "metadata": {"note": "x" * 300_000}})
        assert game.take_up()["step_count"] == 0


def test_a_killed_server_has_lost_no_answered_step_of_any_socket(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        games = [RemoteGame(server.address()) for _ in range(8)]
        for seed, game in enumerate(games):
            game.reset(seed=seed, episode_length=50)
        answered = [[game.step(SANE).reward for _ in range(2 + k)] for k, game in enumerate(games)]
        server.stop(signal.SIGKILL)
    with served(tmp_path) as server:
        address = server.address()
        for seed, (game, rewards) in enumerate(zip(games, answered, strict=True)):
            live = open_live(opening_of("auction", {"episode_length": 50}, seed))
            assert rewards == [live.step(SANE).reward for _ in rewards]
            with RemoteGame(address, session_id=game.session_id) as again:
                assert again.state()["step_count"] == len(rewards)
                assert again.step(SANE).reward == live.step(SANE).reward
