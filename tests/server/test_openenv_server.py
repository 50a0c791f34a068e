"""A real server, driven by OpenEnv's own clients and looked at by its validator."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from designs import SANE
from edgeworth.games.auction.action import action_of, random_mechanisms
from running_servers import served_in_thread

pytest.importorskip("openenv")

from openenv.cli._validation import validate_running_environment
from openenv.core import GenericEnvClient
from openenv.core.env_server.serialization import serialize_observation

from edgeworth.client import Place
from edgeworth.server.openenv_games import BargainingClient, BargainingOpenEnv, DaedalusClient, DaedalusOpenEnv, MechanismAction, MoveAction

STAGES = ("0", "1", "2", "3", "4", "mixed", "dirichlet", "held_out_3")
SCENARIOS = ("classic", "lewis", "discounted", "walkaway", "one_shot")
Exchange = dict[str, Any]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_in_thread(tmp_path_factory.mktemp("openenv"), openenv=True) as address:
        yield address


def market_action(rng: np.random.Generator, _: Exchange) -> dict[str, Any]:
    return action_of(random_mechanisms(rng, 1)[0]).model_dump()


def talks_action(rng: np.random.Generator, told: Exchange) -> dict[str, Any]:
    act = int(rng.choice(np.flatnonzero(told["action_mask"])))
    return {"act_type": act, "oA": [int(rng.integers(0, most + 1)) for most in told["oA_max"]]}


def episode_options(k: int) -> dict[str, Any]:
    """An episode of either game, by turns."""
    if k % 2:
        return {"seed": k, "episode_id": f"episode-{k}", "scenario": SCENARIOS[k % len(SCENARIOS)]}
    market = {"stage": STAGES[k % len(STAGES)], "n_agents": 2 + k % 15, "episode_length": 3 + k % 5}
    return {"seed": k, "episode_id": f"episode-{k}", **market}


def local(k: int) -> list[Exchange]:
    """The episode as the environment plays it in this process, as OpenEnv would send it."""
    environment: Any = BargainingOpenEnv() if k % 2 else DaedalusOpenEnv()
    action_class: Any = MoveAction if k % 2 else MechanismAction
    choose, rng = talks_action if k % 2 else market_action, np.random.default_rng(k)
    observation = environment.reset(**episode_options(k))
    sent = [serialize_observation(observation)]
    while not observation.done:
        observation = environment.step(action_class(**choose(rng, observation.metadata)))
        sent.append(serialize_observation(observation))
    return [json.loads(json.dumps(one)) for one in sent]


async def remote(url: str, k: int) -> list[Exchange]:
    """The same episode over a socket, by OpenEnv's generic client."""
    choose, rng = talks_action if k % 2 else market_action, np.random.default_rng(k)
    async with GenericEnvClient(base_url=f"{url}/bargaining" if k % 2 else url) as client:
        result = await client.reset(**episode_options(k))
        seen = [result]
        while not result.done:
            result = await client.step(choose(rng, result.metadata))
            seen.append(result)
    return [without_session(one) for one in seen]


def without_session(result: Any) -> Exchange:
    """A result as OpenEnv's own server would have sent it, which knows nothing of sessions."""
    beside = {name: value for name, value in result.metadata.items() if name != "session_id"}
    observation = {**result.observation, "metadata": beside}
    return {"observation": observation, "reward": result.reward, "done": result.done, "metadata": beside}


def test_sixty_four_sessions_at_once_play_as_the_local_environments_bit_for_bit(url: str) -> None:
    async def together() -> list[list[Exchange]]:
        return await asyncio.gather(*(remote(url, k) for k in range(64)))

    over_the_wire = asyncio.run(together())
    for k, episode in enumerate(over_the_wire):
        assert episode == local(k), k
    assert sum(len(episode) for episode in over_the_wire) > 250


def test_the_validator_of_running_servers_is_content(url: str) -> None:
    report = validate_running_environment(url)
    assert report["passed"] and report["mode"] == "simulation", report["summary"]


def test_typed_clients_play_without_async(url: str) -> None:
    with DaedalusClient(base_url=url).sync() as market:
        first = market.reset(seed=7, stage=3, episode_length=2)
        assert first.observation.episode_length == 2 and first.reward is None
        result = market.step(MechanismAction(**SANE))
        assert result.observation.market_outcomes[0].composite == result.reward == result.observation.reward
        state = market.state()
        assert (state.step_count, state.options["stage"], state.done) == (1, 3, False)
    with BargainingClient(base_url=url).sync() as talks:
        talks.reset(seed=7, opens="agent")
        assert talks.step(MoveAction(act_type=0, oA=[1, 0, 0])).observation.metadata["history"]


def test_typed_clients_play_with_async(url: str) -> None:
    async def play() -> tuple[Any, Any]:
        async with DaedalusClient(base_url=url) as market, BargainingClient(base_url=url) as talks:
            await market.reset(seed=7)
            await talks.reset(seed=7, scenario="lewis", normalize=True)
            return await market.step(MechanismAction(**SANE)), await talks.state()

    result, state = asyncio.run(play())
    assert 0.0 < result.reward < 1.0 and state.game == "bargaining"


def test_a_refused_action_reaches_the_client_and_the_session_goes_on(url: str) -> None:
    with GenericEnvClient(base_url=url).sync() as market:
        market.reset(seed=7)
        with pytest.raises(RuntimeError, match=r"reserve_price is 5; .*VALIDATION_ERROR"):
            market.step({**SANE, "reserve_price": 5})
        assert market.step(SANE).observation["round_number"] == 1


def test_the_published_schema_describes_what_is_sent(url: str) -> None:
    for game, k in (("", 0), ("/bargaining", 1)):
        schema = Place(url).ask(f"{game}/schema")
        for exchange in asyncio.run(remote(url, k)):
            whole = {**exchange["observation"], "reward": exchange["reward"], "done": exchange["done"]}
            jsonschema.validate(whole, schema["observation"])
        with GenericEnvClient(base_url=url + game).sync() as client:
            client.reset(seed=k)
            jsonschema.validate(client.state(), schema["state"])
            jsonschema.validate({"act_type": 0, "oA": [1, 0, 0]} if game else SANE, schema["action"])


def test_operation_ids_are_unique_and_the_stock_web_page_is_off(url: str) -> None:
    document = Place(url).ask("/openapi.json")
    ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids))
    assert not any(path.startswith("/web") for path in document["paths"])


def test_tasks_are_listed_for_both_games(url: str) -> None:
    place = Place(url)
    assert place.ask("/list_environments") == ["auction", "bargaining"]
    assert place.ask("/auction/num_tasks", {"split": "test"}) == {"num_tasks": 20}
    assert place.ask("/bargaining/task", {"split": "train", "index": 0})["task"]["options"] == {"scenario": "classic"}


def test_a_session_made_by_a_remote_call_is_taken_up_by_a_socket(url: str) -> None:
    made = Place(url).ask("/mcp", {"jsonrpc": "2.0", "method": "openenv/session/create", "id": 1})
    name = made["result"]["session_id"]
    assert Place(url).ask(f"/state?session_id={name}")["steps"] == 0


def test_an_old_openenv_beside_the_new_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from edgeworth.errors import InvalidOption
    from edgeworth.server import routes_openenv

    routes_openenv.refuse_stale_openenv()
    monkeypatch.setattr(routes_openenv, "STALE", "pytest")  # any package that is installed
    with pytest.raises(InvalidOption, match="pip uninstall pytest"):
        routes_openenv.refuse_stale_openenv()


def test_without_openenv_sockets_work_and_metadata_says_what_is_missing(tmp_path: Path) -> None:
    with served_in_thread(tmp_path) as address:
        with pytest.raises(Exception, match=r"the extra `server`.*pip install .*'openenv==0.10.0'"):
            Place(address).ask("/metadata")
        with GenericEnvClient(base_url=address).sync() as market:
            assert market.reset(seed=7).observation["round_number"] == 0


def test_the_examples_of_the_page_run(url: str) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "openenv.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        exec(example.replace("http://127.0.0.1:8765", url), {})  # the reader will do the same
