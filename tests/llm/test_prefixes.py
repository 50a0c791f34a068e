"""Shared prefixes: which prompts belong together, and how little is read twice."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from edgeworth.llm.local.prefixes import KEPT, Prefix, PrefixCache, groups

HINTS, MECHANISMS = list(range(100)), list(range(500, 700))


class Reader:
    """Stands for a model, and notes what it had to read."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def __call__(self, prefix: Prefix | None, tokens: Sequence[int]) -> Prefix:
        self.read.append(len(tokens))
        known = [*(prefix.tokens if prefix is not None else ()), *tokens]
        return Prefix(tuple(known), ((torch.zeros(1, 2, len(known)), torch.zeros(1, len(known), 2)),))


def test_prompts_that_begin_alike_form_a_group_and_the_others_one_of_their_own() -> None:
    prompts = [[*HINTS, 1], [*MECHANISMS, 2], [7, 8], [*HINTS, 3], [*MECHANISMS, 4], [9]]
    assert sorted(groups(prompts)) == [[0, 3], [1, 4], [2, 5]]
    assert groups([[1, 2, 3]]) == [[0]] and groups([]) == []


def test_repeated_prompts_stay_together_unless_they_are_short() -> None:
    prompts = [[*HINTS, 1], [7, 8], [*HINTS, 1], [*MECHANISMS, 2], [7, 8]]
    assert groups(prompts) == [[0, 2], [1, 3, 4]]


def test_what_a_batch_shares_is_read_once_and_found_again() -> None:
    reader, prefixes = Reader(), PrefixCache()
    first = prefixes.shared_by([[*HINTS, 1, 1], [*HINTS, 2, 2]], reader)
    again = prefixes.shared_by([[*HINTS, 3, 3], [*HINTS, 4, 4]], reader)
    assert first is not None and again is not None and first.tokens == again.tokens == tuple(HINTS)
    assert reader.read == [100]


def test_a_beginning_is_cut_where_a_new_prompt_parts_from_it() -> None:
    reader, prefixes = Reader(), PrefixCache()
    alone = prefixes.shared_by([[*HINTS, 1, 1, 1]], reader)
    other = prefixes.shared_by([[*HINTS, 2, 2, 2]], reader)
    assert alone is not None and other is not None
    assert (len(alone), len(other), reader.read) == (102, 100, [102])


def test_a_longer_beginning_is_read_on_from_a_shorter_one_where_many_rows_share_it() -> None:
    reader, prefixes = Reader(), PrefixCache()
    prefixes.shared_by([[*HINTS, 1], [*HINTS, 2]], reader)
    longer = prefixes.shared_by([[*HINTS, *range(800, 820), n] for n in range(16)], reader)
    assert longer is not None and len(longer) == 120 and reader.read == [100, 20]


def test_every_prompt_keeps_a_token_of_its_own() -> None:
    found = PrefixCache().shared_by([HINTS, HINTS], Reader())
    assert found is not None and len(found) == len(HINTS) - 1


def test_short_beginnings_are_not_shared() -> None:
    reader = Reader()
    assert PrefixCache().shared_by([[1, 2, 3], [1, 2, 4]], reader) is None and reader.read == []


def test_the_least_used_beginning_is_forgotten_first() -> None:
    reader, prefixes = Reader(), PrefixCache()
    prompts = [[[1000 * kind + n for n in range(50)] + [1, 1]] for kind in range(KEPT + 1)]
    for prompt in prompts[:KEPT]:
        prefixes.shared_by(prompt, reader)
    prefixes.shared_by(prompts[0], reader)  # used again
    prefixes.shared_by(prompts[KEPT], reader)
    reader.read.clear()
    prefixes.shared_by(prompts[0], reader)
    assert reader.read == []
    prefixes.shared_by(prompts[1], reader)
    assert reader.read == [51]
