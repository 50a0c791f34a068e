"""The pocket model's tokens, its loss, and that the command trains one."""

from __future__ import annotations

import csv
import dataclasses
import json
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from typer.testing import CliRunner

from edgeworth.cli import app
from edgeworth.config import BargainingConfig
from edgeworth.dialogues.hint_prompt import batch_variables, hint_schema, load_hint_prompt
from edgeworth.errors import DataError, InvalidOption, UnknownKey
from edgeworth.executor.execution import executor
from edgeworth.games.auction.vocabulary import RULES
from edgeworth.games.bargaining.batch import BargainingBatch
from edgeworth.llm.client import Completion, Sampling
from edgeworth.llm.huggingface import POCKET_FOLDER
from edgeworth.llm.stack import make_client
from edgeworth.protocol import Accepted, parse_reply
from edgeworth.training.pocket import PocketSettings, Trainer, learning_rate, load_settings, train
from edgeworth.training.pocket_corpus import GAMES, Corpus, CorpusSettings, load_corpus, make_corpus, save_corpus, system_messages
from edgeworth.training.pocket_folder import STATE, load_state, market_rules, read_card, save
from edgeworth.training.pocket_model import DeviceRows, Rows, batches, build_model, reply_loss
from edgeworth.training.shared_prefix import attend, use_plain_causal_attention

torch.set_num_threads(1)
TINY = Path("configs/pocket_tiny.yaml")
CPU = torch.device("cpu")


def small(corpus_settings: CorpusSettings) -> PocketSettings:
    return PocketSettings(corpus_settings, hidden=32, layers=2, heads=4, key_value_heads=2, intermediate=48)


def test_rows_are_what_the_chat_template_writes(corpus: Corpus) -> None:
    for game in GAMES:
        rows = corpus.rows[game]
        for number in (0, len(rows) // 2, len(rows) - 1):
            tokens = rows.tokens[rows.starts[number] : rows.starts[number + 1]].tolist()
            user = corpus.tokenizer.decode(tokens[1 : rows.replies[number] - 2])
            reply = corpus.tokenizer.decode(tokens[rows.replies[number] : -1])
            told = [
                {"role": "system", "content": system_messages()[game]},
                {"role": "user", "content": user},
                {"role": "assistant", "content": reply},
            ]
            assert corpus.tokenizer.apply_chat_template(told)["input_ids"] == corpus.systems[game] + tokens
            assert json.loads(reply)


def test_every_digit_is_a_token_of_its_own(corpus: Corpus) -> None:
    tokens = corpus.tokenizer.encode("0.38, 1234")
    assert [corpus.tokenizer.decode([token]) for token in tokens if corpus.tokenizer.decode([token]).isdigit()] == list("0381234")


def test_any_text_can_be_told(corpus: Corpus) -> None:
    text = "Zoë's offer: 3 € — ✓\t{}"
    assert corpus.tokenizer.decode(corpus.tokenizer.encode(text)) == text


def test_text_depends_on_the_seed_and_not_on_the_processes(corpus: Corpus, corpus_settings: CorpusSettings) -> None:
    with executor(workers=2) as run:
        again, other = make_corpus(corpus_settings, run), make_corpus(dataclasses.replace(corpus_settings, seed=1))
    for game in GAMES:
        assert (again.rows[game].tokens == corpus.rows[game].tokens).all()
        assert not np.array_equal(other.rows[game].tokens, corpus.rows[game].tokens)


def test_kept_text_is_read_back_and_refused_for_other_settings(corpus: Corpus, corpus_settings: CorpusSettings, tmp_path: Path) -> None:
    save_corpus(tmp_path, corpus, corpus_settings)
    again = load_corpus(tmp_path, corpus_settings)
    assert again.systems == corpus.systems
    for game in GAMES:
        assert (again.rows[game].tokens == corpus.rows[game].tokens).all() and (
            again.held_out[game].replies == corpus.held_out[game].replies
        ).all()
    with pytest.raises(DataError, match="negotiations differ"):
        load_corpus(tmp_path, dataclasses.replace(corpus_settings, negotiations=7))


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("plain", [False, True], ids=["sdpa", "plain causal"])
def test_a_shared_system_message_changes_neither_loss_nor_gradients(
    corpus: Corpus, corpus_settings: CorpusSettings, game: str, plain: bool
) -> None:
    torch.manual_seed(0)
    model = build_model(small(corpus_settings), corpus.tokenizer).double()
    tokens, wanted = DeviceRows.of(corpus.rows[game], CPU).padded(np.arange(0, 60, 12), corpus.tokenizer.pad_token_id)
    system = torch.tensor(corpus.systems[game])
    whole = torch.cat([system.expand(len(tokens), -1), tokens], dim=1)
    logits = model(input_ids=whole[:, :-1]).logits[:, len(system) :]
    expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1)[wanted].float(), tokens[:, 1:].flatten()[wanted])
    expected.backward()
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    if plain:
        use_plain_causal_attention(model)
    loss = reply_loss(model, system, tokens, wanted)
    loss.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    for one, other in zip(gradients, (p.grad for p in model.parameters()), strict=True):
        assert other is not None and torch.linalg.norm(one - other) <= 1e-5 * torch.linalg.norm(one)


@pytest.mark.parametrize("prefix", [0, 3], ids=["alone", "behind a prefix"])
def test_attention_under_autocast_is_half_precision_though_caches_are_single(prefix: int) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 5 + prefix, 8), torch.randn(2, 2, 5 + prefix, 8)
    exact, _ = attend(None, query, key, value, None)
    with torch.autocast("cpu", torch.bfloat16):
        seen, _ = attend(None, query, key, value, None)
    assert (exact.dtype, seen.dtype) == (torch.float32, torch.bfloat16)
    assert torch.allclose(seen.float(), exact, atol=0.05)


@pytest.mark.parametrize("game", GAMES)
def test_padded_rows_are_the_rows_and_the_wanted_places_lead_to_their_replies(corpus: Corpus, game: str) -> None:
    rows, chosen, pad = corpus.rows[game], np.array([40, 3, 17]), corpus.tokenizer.pad_token_id
    tokens, wanted = DeviceRows.of(rows, CPU).padded(chosen, pad)
    whole = [rows.tokens[rows.starts[row] : rows.starts[row + 1]].tolist() for row in chosen]
    assert [[token for token in row if token != pad] for row in tokens.tolist()] == whole
    replies = [row[start:] for row, start in zip(whole, rows.replies[chosen], strict=True)]
    assert tokens[:, 1:].flatten()[wanted].tolist() == [token for reply in replies for token in reply]


def test_a_round_of_batches_has_every_row_at_most_once_and_nearly_all(corpus: Corpus) -> None:
    rows, size = corpus.rows["hint"], 32
    rounds = len(rows) // size
    order = batches(rows, size, np.random.default_rng(0))
    seen = np.concatenate([next(order) for _ in range(rounds)])
    assert len(np.unique(seen)) == len(seen) > len(rows) - size


def test_the_learning_rate_rises_and_then_falls_to_its_end() -> None:
    settings = PocketSettings(steps=1_000, warm_up=100)
    rates = [learning_rate(step, settings) for step in range(1_000)]
    assert rates.index(max(rates)) in (99, 100) and max(rates) == pytest.approx(settings.learning_rate)
    assert rates[-1] == pytest.approx(settings.learning_rate * settings.final_share, rel=0.01)


def test_settings_come_from_yaml_and_one_seed_decides_everything() -> None:
    settings = load_settings(TINY, {"steps": 7, "corpus": {"negotiations": 9}}, seed=3)
    assert (settings.steps, settings.corpus.negotiations, settings.seed, settings.corpus.seed) == (7, 9, 3, 3)
    with pytest.raises(UnknownKey, match="Did you mean 'layers'"):
        load_settings(TINY, {"layer": 7})
    with pytest.raises(InvalidOption, match="must divide"):
        load_settings(TINY, {"heads": 5})


def test_the_command_trains_a_model_whose_loss_falls_and_whose_replies_become_legal(tmp_path: Path) -> None:
    small_run = {
        **{"hidden": 64, "layers": 2, "heads": 2, "intermediate": 128, "steps": 240, "warm_up": 20, "log_every": 40, "bare_steps": 0.7},
        **{"hint_rows": 16, "mechanism_rows": 4, "corpus.negotiations": 600, "corpus.markets": 40},
        **{"corpus.held_out_negotiations": 15, "corpus.held_out_markets": 1},
    }
    flags = [word for key, value in small_run.items() for word in ("--set", f"{key}={value}")]
    run = CliRunner().invoke(
        app, ["pocket", "train", "--config", str(TINY), *flags, "--seed", "1", "--out", str(tmp_path), "--workers", "1", "--json"]
    )
    assert run.exit_code == 0, run.output
    card = json.loads(run.stdout)
    assert card["rules"] == {"auction": RULES}
    assert card["settings"]["seed"] == 1 and card["hardware"] == "CPU" and card["exchanges"]["hint"] > 500
    with (tmp_path / "training_log.csv").open() as file:
        first, *_, last = csv.DictReader(file)
    for game in GAMES:
        assert float(last[f"{game}_held_out_loss"]) < 0.5 * float(first[f"{game}_held_out_loss"])
    untrained = tmp_path / "untrained"
    shutil.copytree(tmp_path, untrained, ignore=shutil.ignore_patterns("untrained"))
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig.from_pretrained(tmp_path)).save_pretrained(untrained)
    assert legal_share(untrained) == 0.0
    assert legal_share(tmp_path) >= 0.9
    assert read_card(tmp_path) == card


def few(rows: Rows, number: int = 6) -> Rows:
    return Rows(rows.tokens[: rows.starts[number]], rows.starts[: number + 1], rows.replies[:number])


@pytest.fixture
def short(corpus_settings: CorpusSettings) -> PocketSettings:
    rows = {"steps": 12, "warm_up": 3, "hint_rows": 8, "mechanism_rows": 2, "log_every": 4, "bare_steps": 0.5, "bare_share": 0.5}
    return dataclasses.replace(small(corpus_settings), **rows, keep_every=1)


def weights_of(trainer: Trainer) -> bytes:
    return b"".join(p.detach().numpy().tobytes() for p in trainer.model.parameters())


def test_system_messages_are_met_early_in_a_share_of_the_updates_and_late_in_most(
    corpus: Corpus, short: PocketSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[bool] = []

    def loss(model: LlamaForCausalLM, system: torch.Tensor | None, tokens: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        met.append(system is not None)
        return model.lm_head.weight.sum()

    monkeypatch.setattr("edgeworth.training.pocket.reply_loss", loss)
    trainer = Trainer(corpus, dataclasses.replace(short, steps=200, early_share=0.1, bare_share=0.2), "cpu")
    for _ in range(200):
        trainer.update()
    early, late = met[:200], met[200:]
    assert 0.04 < np.mean(early) < 0.18 and 0.7 < np.mean(late) < 0.9


@pytest.mark.parametrize("stopped_at", [4, 7], ids=["at a line of the log", "between two lines"])
def test_a_run_that_was_stopped_goes_on_bit_for_bit(corpus: Corpus, short: PocketSettings, tmp_path: Path, stopped_at: int) -> None:
    corpus = dataclasses.replace(corpus, held_out={game: few(rows) for game, rows in corpus.held_out.items()})
    whole = Trainer(corpus, short, "cpu")
    train(whole, tmp_path / "whole.csv", lambda: None)
    first = Trainer(corpus, short, "cpu")

    def stop(words: str, done: int, total: int) -> None:
        if done == stopped_at - 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(first, tmp_path / "log.csv", lambda: save(tmp_path, first, "a command"), stop)
    settings, state = load_state(tmp_path)
    assert settings == short and state["step"] == stopped_at
    second = Trainer(corpus, settings, "cpu")
    second.load_state(state)
    train(second, tmp_path / "log.csv", lambda: save(tmp_path, second, "a command"))
    assert weights_of(second) == weights_of(whole) != weights_of(first)
    for one, other in zip(second.history, whole.history, strict=True):
        assert {**one, "seconds": 0.0} == {**other, "seconds": 0.0}
    assert read_card(tmp_path)["updates"] == short.steps


def test_a_folder_without_a_state_cannot_be_continued(tmp_path: Path) -> None:
    (tmp_path / STATE).write_bytes(b"no state")
    with pytest.raises(DataError, match="is no state of a pocket model's training"):
        load_state(tmp_path)
    flags = ["pocket", "train", "--resume", str(tmp_path), "--seed", "1"]
    assert "leave --config, --set and --seed out" in str(CliRunner().invoke(app, flags).exception)


def legal_share(folder: Path) -> float:
    """Legal replies of a model, written freely and greedily, for openings of the classic game."""
    batch = BargainingBatch(BargainingConfig(), 12)
    batch.seed(0)
    batch.reset()
    prompt = load_hint_prompt()
    asked = [prompt.messages(values) for values in batch_variables(batch, np.ones(batch.size, np.bool_))]
    replies = make_client("huggingface", model=str(folder)).complete(asked, Sampling(temperature=0.0, max_tokens=60))
    schemas = [hint_schema(mask, view[:3]) for mask, view in zip(batch.masks, batch.views, strict=True)]
    texts = [reply.text if isinstance(reply, Completion) else None for reply in replies]
    return float(np.mean([isinstance(parse_reply(text, schema), Accepted) for text, schema in zip(texts, schemas, strict=True)]))


def test_a_folder_without_a_card_is_told_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="edgeworth pocket train"):
        read_card(tmp_path)


def test_the_bundled_model_has_the_settings_of_the_config() -> None:
    assert read_card()["settings"] == json.loads(json.dumps(dataclasses.asdict(load_settings(Path("configs/pocket_config.yaml")))))


def test_the_bundled_model_is_small_and_its_card_says_what_it_is_and_is_not() -> None:
    card = read_card()
    assert card["parameters"] > 4_000_000 and card["what_it_is_not"].startswith("A general language model")
    assert card["rules"].keys() == {"auction"} and 1 <= market_rules(card) <= RULES
    assert card["command"].startswith("edgeworth pocket train") and card["hardware"] and card["training_seconds"] > 0
    assert {f"{game}_{what}" for game in GAMES for what in ("held_out_loss", "agreement")} == set(card["held_out"])
    assert {"hint_legality", "mechanism_legality", "hint_over_bayes", "mechanism_score"} <= set(card["scores"])
    assert (POCKET_FOLDER / "model.safetensors").stat().st_size <= 16_000_000


@pytest.mark.slow  # compiling takes half a minute
def test_compiled_updates_are_the_same_updates(corpus: Corpus, corpus_settings: CorpusSettings) -> None:
    sizes = {"hidden": 32, "layers": 1, "heads": 2, "intermediate": 32, "hint_rows": 4, "mechanism_rows": 2, "steps": 4, "bare_steps": 0.5}
    plain, compiled = (Trainer(corpus, PocketSettings(corpus=corpus_settings, compiled=flag, **sizes), "cpu") for flag in (False, True))
    for _ in range(4):
        plain.update()
        compiled.update()
    for game in GAMES:
        assert float(plain.sums[game]) == pytest.approx(float(compiled.sums[game]), rel=1e-4)
