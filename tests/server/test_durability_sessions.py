"""Two workers on one store: what one has done the other knows, and nobody is shown a step that is not in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from designs import SANE
from edgeworth.server.live import replayed
from edgeworth.server.openings import opening_from, opening_of
from edgeworth.server.refusals import Refused
from edgeworth.server.sessions import Sessions
from edgeworth.server.settings import SessionLimits
from edgeworth.server.store import Store

SHORT = {"episode_length": 6, "n_agents": 4}


@pytest.fixture
def workers(store_url: str) -> Iterator[tuple[Sessions, Sessions]]:
    stores = Store(store_url), Store(store_url)
    yield Sessions(stores[0]), Sessions(stores[1])
    for store in stores:
        store.close()


def mechanism(number: int) -> dict[str, Any]:
    return {**SANE, "reserve_price": 0.05 * number}


def local_rewards(count: int, seed: int = 3) -> list[float]:
    live = replayed(opening_of("auction", SHORT, seed), [])
    return [live.step(mechanism(number)).reward for number in range(count)]


async def refusal_of(asked: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        await asked
    return refused.value


def test_a_session_can_go_from_worker_to_worker_at_every_step(workers: tuple[Sessions, Sessions]) -> None:
    async def play() -> list[float]:
        await workers[0].open("ann", "auction", SHORT, 3, "a")
        return [(await workers[number % 2].step("ann", "a", mechanism(number)))[0].reward for number in range(6)]

    assert asyncio.run(play()) == local_rewards(6)


def test_a_worker_that_was_left_behind_catches_up_once_however_many_ask(workers: tuple[Sessions, Sessions]) -> None:
    here, there = workers

    async def play() -> None:
        await here.open("ann", "auction", SHORT, 3, "a")
        await there.step("ann", "a", mechanism(0))
        for number in range(1, 5):
            await here.step("ann", "a", mechanism(number))
        states = await asyncio.gather(*(there.state("ann", "a") for _ in range(6)))
        assert states == [await here.state("ann", "a")] * 6
        assert (await there.held("ann", "a")).live.steps == 5
        assert (await there.step("ann", "a", mechanism(5)))[0].reward == local_rewards(6)[5]

    asyncio.run(play())


def test_of_two_simultaneous_steps_one_is_made_and_the_other_is_told_the_state(workers: tuple[Sessions, Sessions]) -> None:
    async def play() -> None:
        await workers[0].open("ann", "auction", SHORT, 3, "a")
        await workers[1].state("ann", "a")
        asked = [worker.step("ann", "a", mechanism(0), expected=0) for worker in (*workers, *workers)]
        answers = await asyncio.gather(*asked, return_exceptions=True)
        lost = [answer for answer in answers if isinstance(answer, Refused)]
        assert len(lost) == 3
        assert {(refused.status, refused.code, refused.facts["state"]["steps"]) for refused in lost} == {(409, "conflict", 1)}
        assert len((await workers[0].export("ann", "a"))["actions"]) == 1

    asyncio.run(play())


def test_a_session_opened_anew_elsewhere_is_the_new_one_here(workers: tuple[Sessions, Sessions]) -> None:
    here, there = workers

    async def play() -> None:
        await here.open("ann", "auction", SHORT, 3, "a")
        await here.step("ann", "a", mechanism(0))
        await there.open("ann", "auction", SHORT, 4, "a")
        assert (await here.state("ann", "a"))["seed"] == 4
        assert (await here.step("ann", "a", mechanism(0)))[0].reward == local_rewards(1, seed=4)[0]

    asyncio.run(play())


def test_a_session_closed_elsewhere_is_gone_here(workers: tuple[Sessions, Sessions]) -> None:
    here, there = workers

    async def play() -> None:
        await here.open("ann", "auction", SHORT, 3, "a")
        await there.close("ann", "a")
        refused = await refusal_of(here.step("ann", "a", mechanism(0)))
        assert (refused.status, refused.code) == (404, "unknown_session")

    asyncio.run(play())


def test_a_step_that_the_store_did_not_take_has_not_happened(workers: tuple[Sessions, Sessions], monkeypatch: pytest.MonkeyPatch) -> None:
    here = workers[0]

    def fails(*_: Any) -> bool:
        raise Refused(503, "store_unavailable", "The store does not answer.", "Try again.")

    async def play() -> None:
        await here.open("ann", "auction", SHORT, 3, "a")
        with monkeypatch.context() as patched:
            patched.setattr(here.store, "advance", fails)
            assert (await refusal_of(here.step("ann", "a", mechanism(0)))).code == "store_unavailable"
        assert (await here.state("ann", "a"))["steps"] == 0
        assert (await here.step("ann", "a", mechanism(0)))[0].reward == local_rewards(1)[0]

    asyncio.run(play())


def test_nobody_is_shown_a_step_before_it_is_in_the_log(postgres_url: str) -> None:
    store = Store(postgres_url)
    sessions, advance = Sessions(store), store.advance
    seen: list[int] = []

    async def play() -> None:
        await sessions.open("ann", "auction", SHORT, 3, "a")
        loop, looking = asyncio.get_running_loop(), []

        def slowly(*facts: Any) -> bool:
            looking.append(asyncio.run_coroutine_threadsafe(sessions.state("ann", "a"), loop))
            seen.append(len(store.actions(facts[0])))
            return advance(*facts)

        store.advance = slowly  # type: ignore[method-assign]
        await sessions.step("ann", "a", mechanism(0))
        shown = await asyncio.wrap_future(looking[0])
        assert (seen, shown["steps"]) == ([0], 1)

    asyncio.run(play())
    store.close()


def test_a_client_that_leaves_in_the_middle_of_a_step_leaves_a_session_that_agrees_with_its_log(postgres_url: str) -> None:
    sessions = Sessions(Store(postgres_url))

    async def play() -> None:
        await sessions.open("ann", "auction", SHORT, 3, "a")
        step = asyncio.create_task(sessions.step("ann", "a", mechanism(0)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        step.cancel()
        await asyncio.gather(step, return_exceptions=True)
        while sessions._commit._is_writing():  # in a thread, whether the client is there or not
            await asyncio.sleep(0.01)
        state = await sessions.state("ann", "a")
        assert state["steps"] == len((await sessions.export("ann", "a"))["actions"])
        turn, number = await sessions.step("ann", "a", mechanism(state["steps"]))
        assert turn.reward == local_rewards(number)[number - 1]

    asyncio.run(play())
    sessions.store.close()


def test_an_expired_session_is_gone_from_memory_too(store_url: str) -> None:
    sessions = Sessions(Store(store_url), SessionLimits(idle_seconds=0.0), alone=True)

    async def play() -> None:
        await sessions.open("ann", "auction", SHORT, 3, "a")
        await asyncio.sleep(0.01)
        assert await sessions.expire() == 1
        assert (await refusal_of(sessions.state("ann", "a"))).code == "unknown_session"

    asyncio.run(play())
    sessions.store.close()


def test_sessions_beyond_what_is_kept_in_memory_are_played_again(store_url: str) -> None:
    sessions = Sessions(Store(store_url), SessionLimits(kept_live=2), alone=True)

    async def play() -> dict[str, list[float]]:
        names = [f"s{k}" for k in range(5)]
        rewards: dict[str, list[float]] = {name: [] for name in names}
        for k, name in enumerate(names):
            await sessions.open("ann", "auction", SHORT, k, name)
        for number in range(4):
            for name in names:
                rewards[name].append((await sessions.step("ann", name, mechanism(number)))[0].reward)
        assert len(sessions._held) == 2
        return rewards

    assert asyncio.run(play()) == {f"s{k}": local_rewards(4, seed=k) for k in range(5)}
    sessions.store.close()


def test_an_exported_session_replays_to_the_same_end(workers: tuple[Sessions, Sessions]) -> None:
    async def play() -> None:
        await workers[0].open("ann", "auction", SHORT, 3, "a")
        for number in range(6):
            await workers[0].step("ann", "a", mechanism(number))
        live = replayed(*opening_from(await workers[1].export("ann", "a")))
        held = await workers[1].held("ann", "a")
        assert (live.observation(), live.info(), live.done) == (held.live.observation(), held.live.info(), True)

    asyncio.run(play())
