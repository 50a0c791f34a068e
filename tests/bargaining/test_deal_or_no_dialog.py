"""Reading Deal or No Dialog: invented lines in every format, and the released files where they are at hand."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edgeworth.config import BargainingConfig
from edgeworth.dialogues import deal_or_no_dialog
from edgeworth.dialogues.deal_or_no_dialog import DatasetContexts, read_dialogues, read_self_play
from edgeworth.errors import DataError, InvalidOption, MissingExtra, UnknownKey, UnknownName
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.games.bargaining.contexts import Context

CONTEXT = Context((1, 2, 3), (4, 3, 0), (1, 0, 3))
MIRROR = Context((1, 2, 3), (1, 0, 3), (4, 3, 0))
MINE, THEIRS = "1 4 2 3 3 0", "1 1 2 0 3 3"
TALK = "YOU: hats to me , balls to you ? <eos> THEM: plus the book for you , done <eos> YOU: <selection>"
UTTERANCES = (("YOU", "hats to me , balls to you ?"), ("THEM", "plus the book for you , done"))
SHARES = "item0=1 item1=2 item2=0 item0=0 item1=0 item2=3"


def tagged(mine: str = MINE, talk: str = TALK, output: str = SHARES, theirs: str = THEIRS) -> str:
    return f"<input> {mine} </input> <dialogue> {talk} </dialogue> <output> {output} </output> <partner_input> {theirs} </partner_input>"


def untagged(
    mine: str = MINE, talk: str = TALK, ending: str = "item0=1 item1=2 item2=0 <eos> reward=10 agree", theirs: str = THEIRS
) -> str:
    return f"{mine} {talk} {ending} {theirs}"


def row(**changes: Any) -> str:
    return json.dumps({"counts": [1, 2, 3], "my_utilities": [4, 3, 0], "partner_utilities": [1, 0, 3], **changes})


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write_lines(name: str, *lines: str) -> Path:
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return tmp_path / name

    return write_lines


def refused(path: Path, **options: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        DatasetContexts(str(path), **options).table()
    return caught.value


# Dialogues


@pytest.mark.parametrize("line", [tagged(), untagged()], ids=["tagged", "untagged"])
def test_both_formats_tell_the_same_dialogue(write: Callable[..., Path], line: str) -> None:
    (dialogue,) = read_dialogues(write("talks.txt", line))
    assert dialogue.context == CONTEXT
    assert dialogue.utterances == UTTERANCES
    assert (dialogue.outcome, dialogue.my_share, dialogue.partner_share) == ("agreed", (1, 2, 0), (0, 0, 3))
    assert dialogue.line == 1


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        (tagged(output=" ".join(["<disagree>"] * 6)), "disagreed"),
        (tagged(output=" ".join(["<no_agreement>"] * 6)), "no_agreement"),
        (tagged(output=" ".join(["<disconnect>"] * 6)), "disconnected"),
        (untagged(ending="item0=1 item1=2 item2=3 <eos> reward=10 disagree"), "disagreed"),
        (untagged(ending="no agreement <eos> reward=no agreement disagree"), "disagreed"),
        (untagged(ending="no agreement <eos> reward=no agreement agree"), "no_agreement"),
        (untagged(ending="disconnect <eos> reward=disconnect agree"), "disconnected"),
        (untagged(ending="disconnect <eos> reward=disconnect disagree"), "disconnected"),
    ],
)
def test_talks_without_a_deal_have_no_shares(write: Callable[..., Path], line: str, outcome: str) -> None:
    (dialogue,) = read_dialogues(write("talks.txt", line))
    assert (dialogue.outcome, dialogue.my_share, dialogue.partner_share) == (outcome, None, None)


def test_a_selection_without_any_talk_is_a_dialogue(write: Callable[..., Path]) -> None:
    (dialogue,) = read_dialogues(write("talks.txt", untagged(talk="THEM: <selection>")))
    assert dialogue.utterances == ()


def test_dialogues_know_their_line(write: Callable[..., Path]) -> None:
    assert [d.line for d in read_dialogues(write("talks.txt", tagged(), tagged(), tagged()))] == [1, 2, 3]


# Tables


def test_a_table_has_one_row_per_perspective(write: Callable[..., Path]) -> None:
    path = write("talks.txt", tagged(), tagged(mine=THEIRS, theirs=MINE))
    table = DatasetContexts(str(path)).table()
    assert table.dtype == np.int16
    assert table.tolist() == [list(CONTEXT.row()), list(MIRROR.row())]


def test_a_self_play_scenario_is_two_lines_and_one_row(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write("selfplay.txt", MINE, THEIRS, THEIRS, MINE)
    assert read_self_play(path) == [CONTEXT, MIRROR]
    for where, split in ((path, "all"), (tmp_path, "all"), (tmp_path, "train")):
        assert DatasetContexts(str(where), part="self_play", split=split).table().tolist() == [list(CONTEXT.row()), list(MIRROR.row())]


@pytest.mark.parametrize("part", ["dialogues", "self_play"])
def test_a_jsonl_file_has_one_row_per_line(write: Callable[..., Path], part: str) -> None:
    path = write("own.jsonl", row(), row(counts=[0, 0, 7]))
    assert DatasetContexts(str(path), part=part).table().tolist() == [list(CONTEXT.row()), [0, 0, 7, 4, 3, 0, 1, 0, 3]]


def test_windows_line_ends_a_byte_order_mark_and_blank_lines_at_the_end_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + f"{row()}\r\n{row()}\r\n\r\n".encode())
    assert len(DatasetContexts(str(path)).table()) == 2


def test_all_reads_the_whole_corpus_first(write: Callable[..., Path], tmp_path: Path) -> None:
    write("data.txt", untagged())
    for name in ("train.txt", "val.txt", "test.txt"):
        write(name, tagged(), tagged())
    assert len(DatasetContexts(str(tmp_path)).table()) == 1


def test_all_joins_the_splits_where_the_whole_corpus_is_missing(write: Callable[..., Path], tmp_path: Path) -> None:
    for size, name in enumerate(("train.txt", "val.txt", "test.txt"), start=1):
        write(name, *[tagged()] * size)
    sizes = {split: len(DatasetContexts(str(tmp_path), split=split).table()) for split in ("all", "train", "val", "test")}
    assert sizes == {"all": 6, "train": 1, "val": 2, "test": 3}


def test_train_is_the_corpus_less_the_held_out_rows_each_as_often_as_held_out(write: Callable[..., Path], tmp_path: Path) -> None:
    other = untagged(talk="THEM: all mine <eos> YOU: <selection>")
    write("data.txt", untagged(), other, untagged(), untagged(), untagged(mine=THEIRS, theirs=MINE))
    write("val.txt", tagged())
    write("test.txt", tagged())
    assert [d.line for d in read_dialogues(tmp_path, "train")] == [2, 4, 5]


def test_a_changed_file_is_read_again_and_a_table_is_its_callers_own(write: Callable[..., Path]) -> None:
    source = DatasetContexts(str(write("own.jsonl", row())))
    source.table()[:] = 0
    assert source.table().tolist() == [list(CONTEXT.row())]
    write("own.jsonl", row(), row())
    assert len(source.table()) == 2


def test_a_batch_resets_from_a_dataset(write: Callable[..., Path]) -> None:
    path = write("own.jsonl", row(), row(my_utilities=[10, 0, 0]))
    batch = BargainingBatch(BargainingConfig(contexts="dataset", context_options={"path": str(path)}), 4)
    batch.seed(1)
    batch.reset()
    assert batch.state["counts"].tolist() == [[1, 2, 3]] * 4


# Options


def test_a_wrong_part_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownName, match=r"Unknown part 'selfplay'\. Known: dialogues, self_play\. Did you mean 'self_play'\?"):
        DatasetContexts(part="selfplay")


def test_a_wrong_split_is_answered_with_its_neighbour(tmp_path: Path) -> None:
    for wrong in (lambda: DatasetContexts(split="tets"), lambda: read_dialogues(tmp_path, "tets")):
        with pytest.raises(UnknownName, match=r"Unknown split 'tets'\. Known: all, test, train, val\. Did you mean 'test'\?"):
            wrong()


def test_a_mistyped_option_is_answered_with_its_neighbour() -> None:
    with pytest.raises(UnknownKey, match=r"Did you mean 'split'\?"):
        BargainingBatch(BargainingConfig(contexts="dataset", context_options={"splits": "val"}), 1)


def test_self_play_has_no_held_out_split() -> None:
    with pytest.raises(InvalidOption, match="split is 'val'; expected 'all'"):
        DatasetContexts(part="self_play", split="val")


@pytest.mark.parametrize("name", ["talks.txt", "own.jsonl"])
def test_a_single_file_has_no_splits(write: Callable[..., Path], name: str) -> None:
    path = write(name, tagged() if name == "talks.txt" else row())
    with pytest.raises(InvalidOption, match=r"split is 'val', but .* is a single file; expected 'all'"):
        DatasetContexts(str(path), split="val").table()


# Malformed lines

TAGGED_FORM = "expected '<input> … </input> <dialogue> … </dialogue> <output> …"
SIX_NUMBERS = "expected six whole numbers, 'count value' for book, hat and ball; "
MALFORMED_TALKS = {
    "no input tags": (tagged().removeprefix("<input> ").replace(" </input>", ""), TAGGED_FORM, "found a line without <input>, </input>."),
    "an open tag": (tagged().replace(" </output>", ""), TAGGED_FORM, "found a line without </output>."),
    "two records in one line": (f"{tagged()} {tagged()}", SIX_NUMBERS, "found "),
    "words after the end": (f"{tagged()} and so on", TAGGED_FORM, "found '<input> 1 4 2"),
    "five numbers": (tagged(mine="1 4 2 3 3"), SIX_NUMBERS, "found 5: '1 4 2 3 3'."),
    "seven numbers of the partner": (tagged(theirs="1 1 2 0 3 3 9"), SIX_NUMBERS, "found 7: '1 1 2 0 3 3 9'."),
    "a word for a number": (tagged(mine="1 4 two 3 3 0"), SIX_NUMBERS, "found 'two'."),
    "half a hat": (tagged(mine="1 4 2.5 3 3 0"), SIX_NUMBERS, "found '2.5'."),
    "too many books": (tagged("11 4 2 3 3 0", theirs="11 1 2 0 3 3"), "counts is [11, 2, 3]; ", "expected numbers from 0 to 10."),
    "a debt of books": (tagged("-1 4 2 3 3 0", theirs="-1 1 2 0 3 3"), "counts is [-1, 2, 3]; ", "expected numbers from 0 to 10."),
    "an empty pool": (tagged("0 4 0 3 0 0", theirs="0 1 0 0 0 3"), "counts are 0,0,0; ", "expected at least one item to divide."),
    "too high a utility": (tagged(mine="1 11 2 3 3 0"), "my_utilities is [11, 3, 0]; ", "expected numbers from 0 to 10."),
    "a negative utility": (tagged(theirs="1 1 2 0 3 -3"), "partner_utilities is [1, 0, -3]; ", "expected numbers from 0 to 10."),
    "two different pools": (tagged(theirs="1 1 2 0 4 3"), "expected the same counts on both sides, 1,2,3; ", "found 1,2,4."),
    "no selection": (tagged(talk="YOU: hello <eos> THEM: bye"), "expected a dialogue that ends with '<selection>'; ", "found 'YOU: hello"),
    "a voice from nowhere": (tagged(talk="ME: hi <eos> YOU: <selection>"), "to begin with 'YOU:' or 'THEM:'; ", "found 'ME: hi'."),
    "speech in the selection": (
        tagged(talk="YOU: ok <selection>"),
        "expected 'YOU: <selection>' or 'THEM: <selection>'",
        "found 'YOU: ok'.",
    ),
    "half an output": (tagged(output="item0=1 item1=2 item2=0"), "for either side, or six times <disagree>", "found 'item0=1 item1"),
    "a mixed output": (
        tagged(output="<disagree> " * 5 + "<disconnect>"),
        "for either side, or six times <disagree>",
        "found '<disagree> <",
    ),
    "items out of order": (tagged(output=SHARES.replace("item0", "item9")), "'item0=n item1=n item2=n'", "found 'item9=1"),
    "more than the pool": (tagged(output=SHARES.replace("item1=2", "item1=3")), "expected a share within the pool 1,2,3; ", "found 1,3,0."),
    "a lost book": (tagged(output=SHARES.replace("item0=1", "item0=0")), "add up to the pool 1,2,3; ", "found 0,2,0 and 0,0,3."),
}
MALFORMED_UNTAGGED_TALKS = {
    "five numbers": (untagged(mine="1 4 2 3 3"), SIX_NUMBERS, "found 5: '1 4 2 3 3'."),
    "a word for a number": (untagged(mine="1 4 2 x 3 0"), SIX_NUMBERS, "found 'x'."),
    "no numbers of the partner": (untagged(theirs=""), SIX_NUMBERS, "found 0: ''."),
    "two different pools": (untagged(theirs="2 1 2 0 3 3"), "expected the same counts on both sides, 1,2,3; ", "found 2,2,3."),
    "too high a utility": (untagged(mine="1 11 2 3 3 0"), "my_utilities is [11, 3, 0]; ", "expected numbers from 0 to 10."),
    "no selection": (untagged(talk="YOU: hello <eos>"), "expected a dialogue that ends with '<selection>'; ", "found '1 4 2 3 3 0 YOU:"),
    "no speech": (untagged(talk="<selection>"), "expected 'YOU: <selection>' or 'THEM: <selection>'", "found ''."),
    "an unknown status": (
        untagged(ending="no agreement <eos> reward=0 perhaps"),
        "'agree' or 'disagree'",
        "found ' no agreement <eos> rew",
    ),
    "no reward": (untagged(ending="item0=1 item1=2 item2=0 <eos> agree"), "'<eos> reward=n'", "found ' item0=1 item1=2"),
    "a short selection": (
        untagged(ending="item0=1 item1=2 <eos> reward=10 agree"),
        "'item0=n item1=n item2=n'; ",
        "found 'item0=1 item1=2'.",
    ),
    "more than the pool": (untagged(ending="item0=1 item1=2 item2=4 <eos> reward=10 agree"), "within the pool 1,2,3; ", "found 1,2,4."),
}
MALFORMED_ROWS = {
    "invalid JSON": ('{"counts": [1, 2', "expected a JSON object; ", "found '{\"counts\": [1, 2'."),
    "endless JSON": ("[" * 100_000, "expected a JSON object; ", "found '[[["),
    "a list": ("[1, 2, 3]", "expected a JSON object with counts, my_utilities, partner_utilities; ", "found '[1, 2, 3]'."),
    "a missing key": ('{"counts": [1, 2, 3]}', "expected the keys counts, my_utilities, partner_utilities; ", "found no 'my_utilities'."),
    "an unknown key": (row(my_utility=[1, 1, 1]), "Unknown key 'my_utility'. Known: counts, ", "Did you mean 'my_utilities'?"),
    "two counts": (row(counts=[1, 2]), "expected counts as a list of three whole numbers", "found '[1, 2]'."),
    "a fraction": (row(counts=[1, 2, 2.5]), "expected counts as a list of three whole numbers", "found '[1, 2, 2.5]'."),
    "a truth": (row(my_utilities=[True, 2, 3]), "expected my_utilities as a list of three whole numbers", "found '[True, 2, 3]'."),
    "a text": (row(partner_utilities="1 0 3"), "expected partner_utilities as a list of three whole numbers", "found '1 0 3'."),
    "too many books": (row(counts=[11, 2, 3]), "counts is [11, 2, 3]; ", "expected numbers from 0 to 10."),
    "an enormous utility": (row(my_utilities=[10**30, 0, 0]), "my_utilities is ", "expected "),
    "an empty pool": (row(counts=[0, 0, 0]), "counts are 0,0,0; ", "expected at least one item to divide."),
}


@pytest.mark.parametrize(("line", "expected", "found"), MALFORMED_TALKS.values(), ids=MALFORMED_TALKS)
def test_a_malformed_tagged_line_is_named_with_what_was_expected_and_found(
    write: Callable[..., Path], tmp_path: Path, line: str, expected: str, found: str
) -> None:
    path = write("val.txt", tagged(), line)
    for error in (refused(path), refused(tmp_path, split="val")):
        assert (error.path, error.line) == (str(path), 2)
        assert str(error).startswith(f"{path}, line 2: ")
        assert expected in str(error) and found in str(error)


@pytest.mark.parametrize(("line", "expected", "found"), MALFORMED_UNTAGGED_TALKS.values(), ids=MALFORMED_UNTAGGED_TALKS)
def test_a_malformed_untagged_line_is_named_with_what_was_expected_and_found(
    write: Callable[..., Path], tmp_path: Path, line: str, expected: str, found: str
) -> None:
    path = write("data.txt", untagged(), line)
    for error in (refused(path), refused(tmp_path)):
        assert str(error).startswith(f"{path}, line 2: ")
        assert expected in str(error) and found in str(error)


@pytest.mark.parametrize(("line", "expected", "found"), MALFORMED_ROWS.values(), ids=list(MALFORMED_ROWS))
def test_a_malformed_json_line_is_named_with_what_was_expected_and_found(
    write: Callable[..., Path], line: str, expected: str, found: str
) -> None:
    path = write("own.jsonl", row(), line)
    message = str(refused(path))
    assert message.startswith(f"{path}, line 2: ")
    assert expected in message and found in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("lines", "number", "expected", "found"),
    [
        ([MINE, THEIRS, MINE], 3, "expected two lines per scenario, one for each side; ", "found an odd number of lines, 3."),
        ([MINE, "1 1 2 0 2 3"], 2, "expected the same counts on both sides, 1,2,3; ", "found 1,2,2."),
        ([MINE, THEIRS, "1 4 2 3 3", THEIRS], 3, SIX_NUMBERS, "found 5: '1 4 2 3 3'."),
        ([MINE, "1 1 2 0 3 x"], 2, SIX_NUMBERS, "found 'x'."),
        ([MINE, "1 1 2 0 3 12"], 2, "partner_utilities is [1, 0, 12]; ", "expected numbers from 0 to 10."),
    ],
)
def test_a_malformed_self_play_file_is_named_with_what_was_expected_and_found(
    write: Callable[..., Path], lines: list[str], number: int, expected: str, found: str
) -> None:
    path = write("selfplay.txt", *lines)
    message = str(refused(path, part="self_play"))
    assert message.startswith(f"{path}, line {number}: ")
    assert expected in message and found in message


# Files that are missing, empty or of another kind


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    for name, part in (("nowhere", "dialogues"), ("nowhere.txt", "self_play"), ("nowhere.jsonl", "dialogues")):
        message = str(refused(tmp_path / name, part=part))
        assert message == f"{tmp_path / name}: no such file or folder; expected the released folder, one file of it, or a .jsonl file."


@pytest.mark.parametrize(
    ("options", "looked_for"),
    [
        ({}, "data.txt, or train.txt, val.txt, test.txt"),
        ({"split": "train"}, "train.txt, or data.txt, val.txt, test.txt"),
        ({"split": "val"}, "val.txt"),
        ({"part": "self_play"}, "selfplay.txt"),
    ],
)
def test_a_folder_without_the_files_says_which_were_looked_for(
    write: Callable[..., Path], tmp_path: Path, options: dict[str, str], looked_for: str
) -> None:
    assert str(refused(tmp_path, **options)) == f"{tmp_path}: expected the file {looked_for}; found none of them."
    write("test.txt", tagged())
    assert str(refused(tmp_path, **options)) == f"{tmp_path}: expected the file {looked_for}; found test.txt."


@pytest.mark.parametrize("name", ["talks.txt", "own.jsonl"])
@pytest.mark.parametrize("part", ["dialogues", "self_play"])
def test_an_empty_file_is_refused(write: Callable[..., Path], name: str, part: str) -> None:
    path = write(name, "", " ")
    assert str(refused(path, part=part)) == f"{path}: expected one record per line; found an empty file."


def test_a_blank_line_between_records_is_refused(write: Callable[..., Path]) -> None:
    path = write("own.jsonl", row(), "", row())
    assert str(refused(path)) == f"{path}, line 2: expected one record per line; found an empty line."


def test_bytes_that_are_no_text_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(row().encode() + b"\n\xff\n")
    assert str(refused(path)) == f"{path}, line 2: expected UTF-8 text; found other bytes."


def test_a_self_play_file_read_as_dialogues_names_the_remedy(write: Callable[..., Path]) -> None:
    path = write("selfplay.txt", MINE, THEIRS)
    assert f"{path}, line 1: expected dialogues (for a self-play file, set part to 'self_play'); found '{MINE}'." == str(refused(path))


def test_a_file_of_another_kind_is_told_the_formats(write: Callable[..., Path]) -> None:
    path = write("own.json", row())
    message = str(refused(path))
    assert message.startswith(f"{path}, line 1: expected '<input> …' or six whole numbers, then a dialogue")
    assert "a .jsonl file" in message


def test_a_held_out_dialogue_that_the_corpus_lacks_is_an_error(write: Callable[..., Path], tmp_path: Path) -> None:
    write("data.txt", untagged())
    write("val.txt", tagged())
    write("test.txt", tagged())
    message = str(refused(tmp_path, split="train"))
    assert message == f"{tmp_path / 'data.txt'}: expected every dialogue of val.txt and test.txt; found all but 1. Give the whole corpus."


def test_a_corpus_of_held_out_dialogues_only_leaves_nothing_to_train_on(write: Callable[..., Path], tmp_path: Path) -> None:
    write("data.txt", untagged(), untagged())
    write("val.txt", tagged())
    write("test.txt", tagged())
    assert "expected training dialogues; found only those of val.txt and test.txt." in str(refused(tmp_path, split="train"))


# The Hugging Face hub, played by a stand-in


Loader = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Callable[[Loader | None], None]:
    deal_or_no_dialog._hub_table.cache_clear()

    def install(load_dataset: Loader | None) -> None:
        module = None if load_dataset is None else SimpleNamespace(load_dataset=load_dataset)
        monkeypatch.setitem(sys.modules, "datasets", module)

    return install


def hub_row(mine: Context) -> dict[str, Any]:
    sides = {"input": mine.my_utilities, "partner_input": mine.partner_utilities}
    return {key: {"count": list(mine.counts), "value": list(values)} for key, values in sides.items()}


def test_the_hub_gives_every_split(hub: Callable[[Loader | None], None]) -> None:
    sizes = {"train": 3, "validation": 2, "test": 1}
    hub(lambda name, config, split: [hub_row(CONTEXT)] * sizes[split] if (name, config) == ("deal_or_no_dialog", "dialogues") else [])
    assert DatasetContexts().table().tolist() == [list(CONTEXT.row())] * 6
    assert [len(DatasetContexts(split=split).table()) for split in ("train", "val", "test")] == [3, 2, 1]


def test_self_play_rows_of_the_hub_pair_up(hub: Callable[[Loader | None], None]) -> None:
    rows = [{"input": hub_row(context)["input"]} for context in (CONTEXT, MIRROR)]
    hub(lambda name, config, split: rows if (config, split) == ("self_play", "train") else [])
    assert DatasetContexts(part="self_play").table().tolist() == [list(CONTEXT.row())]


def test_where_the_loading_script_is_refused_the_export_of_the_hub_is_read(hub: Callable[[Loader | None], None]) -> None:
    def load_dataset(name: str, config: str | None = None, **options: str) -> list[dict[str, Any]]:
        if config is not None:
            raise RuntimeError("Dataset scripts are no longer supported, but found deal_or_no_dialog.py")
        assert options == {"data_dir": "dialogues", "split": "validation", "revision": "refs/convert/parquet"}
        return [hub_row(CONTEXT)]

    hub(load_dataset)
    assert len(DatasetContexts(split="val").table()) == 1


def test_a_hub_that_does_not_answer_names_the_remedy(hub: Callable[[Loader | None], None]) -> None:
    def load_dataset(*_: Any, **__: Any) -> list[dict[str, Any]]:
        raise ConnectionError("no route to the hub\nand more")

    hub(load_dataset)
    with pytest.raises(DataError, match=r"found ConnectionError: no route to the hub\. Give `path`, a folder of the released files\."):
        DatasetContexts().table()


def test_without_datasets_the_extra_is_named(hub: Callable[[Loader | None], None]) -> None:
    hub(None)
    with pytest.raises(MissingExtra, match=r"no `path` is given\) needs datasets \(the extra `llm`\); install it with: pip") as caught:
        DatasetContexts().table()
    assert caught.value.extra == "llm"


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "expected rows; found none. Give `path`"),
        ([{"text": "hello"}], "line 1: expected input with count and value; found 'None'."),
        (
            [hub_row(CONTEXT), {**hub_row(CONTEXT), "partner_input": {"count": [1, 2], "value": [1, 0, 3]}}],
            "line 2: expected partner_input count",
        ),
    ],
)
def test_a_hub_answer_of_another_shape_is_refused(hub: Callable[[Loader | None], None], rows: list[dict[str, Any]], problem: str) -> None:
    hub(lambda name, config, split: rows)
    with pytest.raises(DataError) as caught:
        DatasetContexts(split="test").table()
    assert "Hugging Face dataset deal_or_no_dialog (dialogues, test)" in str(caught.value)
    assert problem in str(caught.value)


# The released files


@pytest.fixture(scope="module")
def released() -> str:
    """The folder of the released files, which are too restrictively licensed to travel with the tests."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data" / "deal_or_no_dialog"
    folder = Path(os.environ.get("EDGEWORTH_DATA", beside))
    if not (folder / "data.txt").is_file():
        pytest.skip(f"the released Deal or No Dialog files are not in {folder}; set EDGEWORTH_DATA to their folder")
    return str(folder)


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, 12_234),
        ({"split": "train"}, 10_095),
        ({"split": "val"}, 1_087),
        ({"split": "test"}, 1_052),
        ({"part": "self_play"}, 4_086),
    ],
)
def test_every_released_context_obeys_the_lewis_rules(released: str, options: dict[str, str], size: int) -> None:
    table = DatasetContexts(released, **options).table()
    assert table.shape == (size, 9)
    assert all(Context.from_row(row).is_lewis() for row in table)


def test_released_outcomes_are_as_counted_in_the_files(released: str) -> None:
    outcomes = Counter(dialogue.outcome for dialogue in read_dialogues(released))
    assert outcomes == {"agreed": 9_531, "disagreed": 1_442, "no_agreement": 1_182, "disconnected": 79}


def test_agreed_shares_conserve_the_pool(released: str) -> None:
    for dialogue in read_dialogues(released) + read_dialogues(released, "val") + read_dialogues(released, "test"):
        if dialogue.outcome == "agreed":
            assert dialogue.my_share is not None and dialogue.partner_share is not None
            assert min(*dialogue.my_share, *dialogue.partner_share) >= 0
            assert tuple(np.add(dialogue.my_share, dialogue.partner_share)) == dialogue.context.counts


def test_train_val_and_test_share_no_scenario(released: str) -> None:
    scenarios = [
        {(d.context.counts, frozenset((d.context.my_utilities, d.context.partner_utilities))) for d in read_dialogues(released, split)}
        for split in ("train", "val", "test")
    ]
    assert [len(split) for split in scenarios] == [1_884, 200, 200]
    assert len(set().union(*scenarios)) == 2_284


def test_a_batch_resets_from_the_released_contexts(released: str) -> None:
    batch = BargainingBatch(BargainingConfig(contexts="dataset", context_options={"path": released}), 4)
    batch.seed(7)
    batch.reset()
    known = {tuple(row) for row in batch.table.tolist()}
    drawn = np.concatenate([batch.state["counts"], batch.state["utilities"].reshape(4, 6)], axis=1)
    assert all(tuple(row) in known for row in drawn.tolist())
