"""Flags that choose a language model, the same in every command that asks one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from edgeworth.cli.console import changed

ClientName = Annotated[
    str | None,
    typer.Option(
        "--client",
        help="Who is asked: pocket, groq, ollama, vllm, … Default: pocket, our own; with only a model, huggingface.",
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", help="The client's model: a name, e.g. Qwen/Qwen2.5-1.5B-Instruct from the hub, or a folder."),
]
PromptFile = Annotated[Path | None, typer.Option("--prompt", help="A prompt of your own for the language model.")]
ClientOptions = Annotated[
    list[str] | None, typer.Option("--client-option", help="Any option of the client, e.g. --client-option base_url=http://host:8000/v1.")
]
CacheFile = Annotated[Path | None, typer.Option("--cache", help="Keep the model's replies in this file, and ask nothing twice.")]
Replay = Annotated[bool, typer.Option("--replay", help="Answer from the cache alone, without a model.")]
Temperature = Annotated[float | None, typer.Option("--temperature", min=0.0, max=2.0, help="0 is greedy, which is the default.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Longest reply.")]


def client_options(given: list[str] | None) -> dict[str, Any]:
    """Every `--client-option NAME=VALUE`."""
    return changed({}, given, "timeout=10", "--client-option")
