"""Negotiations in words, and measured, over HTTP."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from stub_model import Stub

from edgeworth.dialogues.sentences import TONES
from edgeworth.errors import UnknownName
from edgeworth.server import routes_designers
from edgeworth.server.model_process import ModelProcess
from edgeworth.server.speech import speech_process
from running_servers import client_of, settings_in

CONTEXT = {"counts": [2, 2, 2], "my_utilities": [3, 1, 1], "partner_utilities": [1, 3, 1]}
OPENS = {"session_id": "s", "seed": 5, "opens": "partner", **CONTEXT}


def parse(client: TestClient, text: str, session: str = "s") -> Any:
    return client.post("/bargaining/parse", json={"session_id": session, "text": text}).json()


def test_a_typed_offer_is_read_as_a_move_and_changes_nothing(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json=OPENS)
        read = parse(client, "I'll take both books and you keep the rest")
        assert (read["act"], read["action"]) == ("PROPOSE", {"act_type": 0, "oA": [2, 0, 0]})
        assert read["words"] == "PROPOSE: you get 2 books" and read["steps"] == 0
        assert client.get("/bargaining/state", params={"session_id": "s"}).json()["steps"] == 0


def test_assent_is_read_as_accepting_the_offer_that_the_partner_made_by_its_move(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json=OPENS)
        read = parse(client, "ok, deal")
        assert read["action"] == {"act_type": 2, "oA": [0, 0, 0]} and read["share"] == [1, 1, 1]
        made = client.post("/bargaining/step", json={"session_id": "s", "action": read["action"]}).json()
        assert made["info"]["outcome"] == "AGENT_AGREED"


def test_saying_ones_own_offer_again_insists(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json=OPENS)
        client.post("/bargaining/step", json={"session_id": "s", "action": {"act_type": 0, "oA": [2, 2, 2]}})
        assert parse(client, "i want both books, both hats and both balls")["action"] == {"act_type": 1, "oA": [2, 2, 2]}


@pytest.mark.parametrize("text", ["hello there", "deal"])
def test_a_sentence_without_a_legal_move_says_so(tmp_path: Path, text: str) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json={**OPENS, "opens": "agent"})
        read = parse(client, text)
        assert read["action"] is None and read["words"]


def test_an_unsure_sentence_is_asked_about_and_makes_no_move(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json=OPENS)
        read = parse(client, "i want some books")
        assert read["action"] is None and read["guess"]["act_type"] == 0
        assert read["words"].startswith("I am not sure. Do you mean PROPOSE: you get ") and "how many" in read["words"]


@pytest.mark.parametrize("tone", TONES)
def test_a_move_put_into_words_is_read_back_as_that_move(tmp_path: Path, tone: str) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json=OPENS)
        for action in ({"act_type": act, "oA": [2, 0, 1] if act in (0, 1, 4) else [0, 0, 0]} for act in range(5)):
            said = client.post("/bargaining/say", json={"session_id": "s", "action": action, "tone": tone}).json()
            assert parse(client, said["sentence"])["action"] == action


@pytest.mark.parametrize("action", [{"act_type": 2, "oA": [0, 0, 0]}, {"act_type": 0, "oA": [3, 0, 0]}])
def test_a_move_that_is_not_legal_is_not_put_into_words(tmp_path: Path, action: Any) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json={**OPENS, "opens": "agent"})
        refused = client.post("/bargaining/say", json={"session_id": "s", "action": action})
        assert (refused.status_code, refused.json()["code"]) == (422, "illegal_action")


@pytest.mark.parametrize("options", [{}, {"utterances": "plain"}])
def test_a_sentence_is_no_action_and_changes_nothing(tmp_path: Path, options: dict[str, Any]) -> None:
    with client_of(settings_in(tmp_path)) as client:
        opened = client.post("/bargaining/reset", json={**OPENS, **options}).json()
        refused = client.post("/bargaining/step", json={"session_id": "s", "action": "ok, deal"})
        assert (refused.status_code, refused.json()["code"]) == (422, "illegal_action") and "/bargaining/parse" in refused.json()["message"]
        state = client.get("/bargaining/state", params={"session_id": "s"}).json()
        assert (state["steps"], state["done"], state["info"]["history"]) == (0, False, opened["info"]["history"])


SPEAKS = "I would like two books and one ball."


@pytest.mark.parametrize(
    ("text", "source", "rejected"),
    [(SPEAKS, "model", None), ("I want everything!", "template", "I want everything!")],
)
def test_a_model_words_a_move_where_the_parser_reads_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, source: str, rejected: str | None
) -> None:
    monkeypatch.setattr(routes_designers, "speech_process", lambda settings: ModelProcess("stub", functools.partial(Stub, text=text)))
    action = {"act_type": 0, "oA": [2, 0, 1]}
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json=OPENS)
        said = client.post("/bargaining/say", json={"session_id": "s", "action": action, "by": "model"}).json()
        assert (said["source"], said["rejected"]) == (source, rejected) and (said["sentence"] == text) is (source == "model")
        assert parse(client, said["sentence"])["action"] == action


def test_without_a_model_that_speaks_only_templates_do(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json=OPENS)
        given = {"session_id": "s", "action": {"act_type": 0, "oA": [2, 0, 1]}}
        refused = client.post("/bargaining/say", json={**given, "by": "model"})
        assert (refused.status_code, refused.json()["code"]) == (409, "no_speech_model") and "--speech-model" in refused.json()["remedy"]
        assert client.post("/bargaining/say", json=given).json()["source"] == "template"


def test_the_model_that_speaks_is_named_in_the_settings(tmp_path: Path) -> None:
    assert speech_process(settings_in(tmp_path)) is None
    named = speech_process(settings_in(tmp_path, speech_client="ollama", speech_model="qwen2.5:1.5b"))
    assert named is not None and named.name == "qwen2.5:1.5b" and not named.loaded
    with pytest.raises(UnknownName, match="ollama"):
        speech_process(settings_in(tmp_path, speech_client="olama"))


def test_a_session_opened_with_a_tone_has_the_words_beside_the_acts(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        opened = client.post("/bargaining/reset", json={**OPENS, "utterances": "friendly"}).json()
        made = client.post("/bargaining/step", json={"session_id": "s", "action": {"act_type": 0, "oA": [2, 2, 2]}}).json()
        assert [said["side"] for said in opened["info"]["utterances"]] == [1]
        assert [said["side"] for said in made["info"]["utterances"]] == [1, 0, 1]
        told = client.get("/bargaining/transcript", params={"session_id": "s", "tone": "friendly"}).json()
        assert [move["sentence"] for move in told["moves"]] == [said["text"] for said in made["info"]["utterances"]]
        refused = client.post("/bargaining/reset", json={**OPENS, "session_id": "t", "utterances": "frendly"})
        assert refused.status_code == 422 and "friendly" in refused.json()["message"]


def test_a_transcript_has_a_sentence_for_every_move_and_the_same_one_again(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json=OPENS)
        client.post("/bargaining/step", json={"session_id": "s", "action": {"act_type": 0, "oA": [2, 2, 2]}})
        said = client.get("/bargaining/transcript", params={"session_id": "s"}).json()
        assert [(move["side"], move["share"]) for move in said["moves"]] == [
            ("partner", [1, 1, 1]),
            ("agent", [2, 2, 2]),
            ("partner", [1, 1, 1]),
        ]
        assert all(move["sentence"] for move in said["moves"]) and said["ending"] is None
        assert client.get("/bargaining/transcript", params={"session_id": "s"}).json() == said


def test_an_analysis_is_told_only_when_the_negotiation_is_over(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json=OPENS)
        refused = client.get("/bargaining/analysis", params={"session_id": "s"})
        assert (refused.status_code, refused.json()["code"]) == (409, "not_over") and "[1,3,1]" not in refused.text
        client.post("/bargaining/reset", json={**OPENS, "session_id": "open", "truth": True})
        assert client.get("/bargaining/analysis", params={"session_id": "open"}).status_code == 200


def test_an_analysis_places_a_deal_among_what_was_possible(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json=OPENS)
        client.post("/bargaining/step", json={"session_id": "s", "action": {"act_type": 2, "oA": [0, 0, 0]}})
        found = client.get("/bargaining/analysis", params={"session_id": "s"}).json()
    assert found["deal"] == {"share": [1, 1, 1], "mine": 5, "theirs": 5}
    assert found["points"]["nash"] == {"share": [2, 0, 1], "mine": 7, "theirs": 7}
    assert found["improvement"] == {"share": [2, 0, 2], "mine": 8, "theirs": 6}
    got = found["could_get"]
    assert got["random"] < found["deal"]["mine"] < got["oracle"] == 8 and got["plan"]["here"] <= got["oracle"]
    assert got["plan"]["deal"]["mine"] == got["plan"]["here"] and got["plan"]["deal"] in found["allocations"]
    assert {(point["mine"], point["theirs"]) for point in found["frontier"]} <= {(p["mine"], p["theirs"]) for p in found["allocations"]}


def test_what_cannot_be_computed_for_a_partner_says_why(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/bargaining/reset", json={"session_id": "s", "seed": 5, "partner": "human_clone"})
        client.post("/bargaining/step", json={"session_id": "s", "action": {"act_type": 3, "oA": [0, 0, 0]}})
        found = client.get("/bargaining/analysis", params={"session_id": "s"}).json()["could_get"]
    assert "human_clone" in found["oracle_note"] and found["plan_note"] and "oracle" not in found


def test_nobody_reads_anothers_negotiation(tmp_path: Path) -> None:
    tokens = (("alice", "a-token-of-alice"), ("bob", "a-token-of-bobby-here"))
    alice, bob = ({"authorization": f"Bearer {token}"} for _, token in tokens)
    with client_of(settings_in(tmp_path, tokens=tokens)) as client:
        client.post("/bargaining/reset", json=OPENS, headers=alice)
        body = {"session_id": "s", "text": "deal"}
        assert client.post("/bargaining/parse", json=body, headers=alice).status_code == 200
        assert client.post("/bargaining/parse", json=body, headers=bob).status_code == 404
        for route in ("transcript", "analysis"):
            assert client.get(f"/bargaining/{route}", params={"session_id": "s"}, headers=bob).status_code == 404


def test_a_market_is_no_negotiation(tmp_path: Path) -> None:
    with client_of(settings_in(tmp_path)) as client:
        client.post("/reset", json={"session_id": "m"})
        assert client.get("/bargaining/transcript", params={"session_id": "m"}).json()["code"] == "other_game"
