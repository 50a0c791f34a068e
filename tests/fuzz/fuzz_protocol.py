"""Coverage-guided fuzzing of the protocol: python tests/fuzz/fuzz_protocol.py FOLDER -max_total_time=60 (atheris, in the dev extra).

FOLDER keeps the inputs that reach new lines; it begins with a good reply of each kind. The options are libFuzzer's.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

with atheris.instrument_imports(include=["edgeworth.protocol", "edgeworth.dialogues.hint_prompt"]):
    from edgeworth.protocol import Accepted, Rejection, parse_reply
    from replies import CASES


def judge(data: bytes) -> None:
    """One input: every schema gives a verdict, and what is accepted is accepted again when it is written down."""
    text = data.decode("utf-8", "surrogateescape")
    for schema, values in CASES.values():
        verdict = parse_reply(text, schema)
        if isinstance(verdict, Accepted):
            assert schema.name != "hint" or all(0 <= n <= cap for n, cap in zip(verdict.value.share, (2, 1, 3), strict=True))
        else:
            assert isinstance(verdict, Rejection) and verdict.sentence.isprintable()
            assert verdict.field is None or isinstance(verdict.field, str)
        assert isinstance(parse_reply(json.dumps(values), schema), Accepted)


def main() -> None:
    """Fuzz until libFuzzer's limits are reached."""
    folders = [Path(word) for word in sys.argv[1:] if not word.startswith("-")]
    if folders:
        folders[0].mkdir(parents=True, exist_ok=True)
        for name, (_, values) in CASES.items():
            (folders[0] / name).write_text(json.dumps(values), encoding="utf-8")
    atheris.Setup(sys.argv, judge)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
