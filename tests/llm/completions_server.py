"""A server of the chat-completions protocol around a local model: `python completions_server.py FOLDER PORT`.

What vLLM is on a machine with a GPU: it enforces schemas, honours seeds, returns log-probabilities, and refuses what is too long.
"""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse

from edgeworth.llm.client import Failure, Message, Sampling
from edgeworth.llm.huggingface import HuggingFace

SERVED = "tiny"


def sampling_of(request: dict[str, Any]) -> Sampling:
    """What a request asks for."""
    optional = {name: request[name] for name in ("temperature", "seed", "top_p", "logprobs", "max_tokens") if name in request}
    form = request.get("response_format") or {}
    schema = form["json_schema"]["schema"] if form.get("type") == "json_schema" else None
    return Sampling(stop=tuple(request.get("stop", ())), json_schema=schema, **optional)


def application(folder: str) -> FastAPI:
    """The server's routes."""
    client, app = HuggingFace(folder), FastAPI()
    client.check()

    @app.get("/v1/models")
    def models() -> dict[str, Any]:
        return {"object": "list", "data": [{"id": SERVED, "object": "model"}]}

    @app.post("/v1/chat/completions")
    def complete(request: dict[str, Any]) -> Any:
        messages = [Message(message["role"], message["content"]) for message in request["messages"]]
        (reply,) = client.complete([messages], sampling_of(request))
        if isinstance(reply, Failure):
            code = "context_length_exceeded" if reply.reason == "too_long" else reply.reason
            return JSONResponse({"error": {"message": reply.message, "code": code}}, status_code=400)
        tokens = None if reply.logprobs is None else {"content": [token._asdict() for token in reply.logprobs]}
        choice = {"index": 0, "message": {"role": "assistant", "content": reply.text}, "finish_reason": reply.finish_reason}
        used = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
        return {"object": "chat.completion", "model": SERVED, "choices": [{**choice, "logprobs": tokens}], "usage": used}

    return app


if __name__ == "__main__":
    uvicorn.run(application(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
