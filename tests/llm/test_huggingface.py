"""Local models as clients: names, options, and one sentence with the remedy for everything that cannot work."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conversations import GREEDY, ask, texts
from local_prompts import hint_moments

from edgeworth.errors import EdgeworthError, InvalidOption, MissingExtra, ModelUnavailable, UnknownName
from edgeworth.llm.client import Completion, Failure, Message, Sampling
from edgeworth.llm.huggingface import POCKET_FOLDER, HuggingFace, Pocket
from edgeworth.llm.stack import make_client, open_client
from tiny_model import write_tiny_model

HUB_NAME = "Qwen/Qwen2.5-1.5B-Instruct"


def spoiled(folder: Path, tiny_folder: Path, *without: str) -> Path:
    """A copy of the model that lacks some files."""
    folder.mkdir()
    for path in tiny_folder.iterdir():
        if path.name not in without:
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


def refusal(client: HuggingFace) -> str:
    with pytest.raises(ModelUnavailable) as refused:
        client.check()
    return str(refused.value)


# Names


def test_a_folder_is_known_by_its_content(tiny_folder: Path, tmp_path: Path) -> None:
    copy = spoiled(tmp_path / "tiny", tiny_folder)
    name = HuggingFace(tiny_folder).name
    assert name == HuggingFace(copy).name and name.startswith("huggingface/tiny@")
    weights = copy / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-10] ^= 1
    weights.write_bytes(changed)
    assert HuggingFace(copy).name != name


def test_a_model_of_the_hub_is_known_by_name_and_revision() -> None:
    assert HuggingFace(HUB_NAME).name == f"huggingface/{HUB_NAME}"
    assert HuggingFace(HUB_NAME, revision="v1").name == f"huggingface/{HUB_NAME}@v1"
    assert HuggingFace(HUB_NAME, dtype="bfloat16").name == f"huggingface/{HUB_NAME} bfloat16"


def test_the_pocket_model_is_known_by_its_content_wherever_it_is(tiny_folder: Path) -> None:
    assert Pocket().name.startswith("pocket") and str(POCKET_FOLDER) not in Pocket().name
    assert Pocket(tiny_folder).name == HuggingFace(tiny_folder).name.replace("huggingface/", "pocket/")


# Replies


def test_replies_carry_what_they_cost_and_who_wrote_them(tiny: HuggingFace) -> None:
    (reply,) = tiny.complete(ask("hello"), Sampling(max_tokens=5))
    assert isinstance(reply, Completion)
    assert (reply.model, reply.completion_tokens, reply.cached, reply.logprobs) == (tiny.name, 5, False, None)
    assert reply.seconds > 0 and reply.prompt_tokens > 3


def test_a_local_model_is_opened_by_name_with_everything_around_it(tiny_folder: Path, tmp_path: Path) -> None:
    moments = hint_moments(4)
    samplings = [Sampling(json_schema=moment.json_schema) for moment in moments]
    with open_client("huggingface", cache=tmp_path / "replies.sqlite", model=str(tiny_folder)) as client:
        client.check()
        first = client.complete([moment.messages for moment in moments], samplings)
        again = client.complete([moment.messages for moment in moments], samplings)
        counted = client.counters.snapshot()
    assert texts(first) == texts(again) and counted["cache_hits"] == 4 and counted["failures"] == {}


def test_a_recording_is_replayed_without_torch(tiny_folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "replies.sqlite"
    with open_client("huggingface", cache=cache, model=str(tiny_folder)) as client:
        recorded = texts(client.complete(ask("hello"), Sampling(max_tokens=5)))
    code = (
        "import sys; from edgeworth.llm.client import Message, Sampling; from edgeworth.llm.stack import open_client\n"
        f"client = open_client('huggingface', cache={str(cache)!r}, replay=True, model={str(tiny_folder)!r})\n"
        "print(client.complete([[Message('user', 'hello')]], Sampling(max_tokens=5))[0].text); print('torch' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == f"{recorded[0]}\nFalse\n"


def test_a_closed_client_loads_anew(tiny_folder: Path) -> None:
    client = HuggingFace(tiny_folder)
    first = texts(client.complete(ask("hello"), Sampling(max_tokens=5)))
    client.close()
    assert texts(client.complete(ask("hello"), Sampling(max_tokens=5))) == first


def test_torch_keeps_its_threads(tiny: HuggingFace) -> None:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    tiny.complete(ask("hello"), Sampling(max_tokens=2))
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


# What cannot work


@pytest.mark.parametrize("model", ["./nowhere", "/nowhere/at/all", "~/nowhere", "a/b/c"])
def test_a_folder_that_is_not_there_is_named(model: str) -> None:
    assert f"There is no folder {model}; expected a folder with a model, or a name on the hub" in refusal(HuggingFace(model))


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (("config.json",), "holds no config.json"),
        (("model.safetensors",), "holds no weights; expected model.safetensors"),
        (("tokenizer.json", "tokenizer_config.json"), "holds no tokenizer"),
    ],
    ids=str,
)
def test_a_folder_that_lacks_something_says_what(missing: tuple[str, ...], words: str, tiny_folder: Path, tmp_path: Path) -> None:
    assert words in refusal(HuggingFace(spoiled(tmp_path / "model", tiny_folder, *missing)))


def test_damaged_weights_are_an_error_with_the_models_name(tiny_folder: Path, tmp_path: Path) -> None:
    folder = spoiled(tmp_path / "model", tiny_folder)
    (folder / "model.safetensors").write_bytes(b"not weights")
    assert f"{folder} cannot be loaded as a causal language model" in refusal(HuggingFace(folder))


def test_a_model_of_another_kind_is_an_error_with_its_name(tiny_folder: Path, tmp_path: Path) -> None:
    folder = spoiled(tmp_path / "model", tiny_folder)
    (folder / "config.json").write_text('{"model_type": "t5"}')
    assert f"{folder} cannot be loaded as a causal language model" in refusal(HuggingFace(folder))


def test_a_model_without_a_chat_template_says_which_to_take_instead(tmp_path: Path) -> None:
    def forget(tokenizer: Any) -> None:
        tokenizer.chat_template = None

    said = refusal(HuggingFace(write_tiny_model(tmp_path / "base", change=forget)))
    assert "has no chat template" in said and "Instruct" in said and "chat_template.jinja" in said


@pytest.mark.parametrize("offline", [True, False], ids=["told to stay offline", "no network"])
def test_a_hub_that_does_not_answer_is_said_at_once_with_the_way_round(offline: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1" if offline else "0")
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    started = time.monotonic()
    said = refusal(HuggingFace(HUB_NAME))
    assert time.monotonic() - started < 15.0
    assert ("HF_HUB_OFFLINE is set, so the hub was not asked" if offline else "The hub did not answer") in said
    assert f"hf download {HUB_NAME} --local-dir FOLDER" in said and "`pocket`, which works offline" in said


@pytest.mark.parametrize("package", ["torch", "transformers", "llguidance"])
def test_a_missing_package_is_named_with_the_extra_that_brings_it(package: str, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"A local language model needs the `{package}` package \(the extra `llm`\); install it"):
        HuggingFace(tiny_folder).check()


def test_a_missing_pocket_model_says_how_to_get_one(tmp_path: Path) -> None:
    assert "`edgeworth pocket train`" in refusal(Pocket(tmp_path / "nothing"))


def test_a_prompt_longer_than_the_context_is_a_failure_with_both_numbers(tiny: HuggingFace) -> None:
    long, short = tiny.complete(ask("hello " * 5000, "hello"), Sampling(max_tokens=2))
    assert isinstance(short, Completion)
    assert isinstance(long, Failure) and long.reason == "too_long"
    assert "tokens, and" in long.message and "reads at most 4,096, reply included; shorten it" in long.message


def test_a_chat_template_that_refuses_a_conversation_fails_that_conversation_alone(tmp_path: Path) -> None:
    def strict(tokenizer: Any) -> None:
        refuse = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
        tokenizer.chat_template = refuse + tokenizer.chat_template

    client = HuggingFace(write_tiny_model(tmp_path / "strict", change=strict))
    refused, answered = client.complete([[Message("system", "be"), Message("user", "hi")], *ask("hi")], Sampling(max_tokens=2))
    assert isinstance(answered, Completion)
    assert isinstance(refused, Failure) and refused.reason == "bad_request" and "System role not supported" in refused.message
    assert texts(client.complete([[Message("system", "be")]], GREEDY)) == ["bad_request"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": ""}, "model is ''; expected a folder, or a name on the hub"),
        ({"model": 3}, "model is 3"),
        ({"batch_size": 0}, "batch_size is 0; expected 1 or more"),
        ({"threads": 1.5}, "threads is 1.5; expected 1 or more"),
        ({"dtype": "float33"}, "Unknown dtype 'float33'.*Did you mean 'float32'"),
    ],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        HuggingFace(**{"model": "one", **options})
    assert issubclass(UnknownName, InvalidOption)


def test_a_device_that_is_not_there_is_refused_before_anything_is_loaded(tiny_folder: Path) -> None:
    import torch

    with pytest.raises(InvalidOption, match="device is 'gpu'; expected auto, cpu, cuda"):
        HuggingFace(tiny_folder, device="gpu").check()
    if not torch.cuda.is_available():
        assert "torch sees no GPU here" in refusal(HuggingFace(tiny_folder, device="cuda"))


def test_both_are_made_by_name() -> None:
    assert isinstance(make_client("pocket"), Pocket) and isinstance(make_client("huggingface", model="one"), HuggingFace)
    with pytest.raises(EdgeworthError, match="needs the option 'model'"):
        make_client("huggingface")
    assert make_client("pocket").complete([], GREEDY) == []
