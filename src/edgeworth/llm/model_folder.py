"""A model in a folder: whether everything is there, and a name for what is in it.

The name is a digest of the files that decide replies, so that a model that was trained anew in the same place is another model to a
cache. Of a large file, pages spread over its whole length are read: training moves every weight.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from edgeworth.errors import ModelUnavailable

WEIGHTS = "*.safetensors"
TOLD = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
"""Small files that decide replies."""
PAGE = 2**16
PAGES = 512
"""A file of up to 32 MiB is read whole."""


def checked_folder(folder: Path) -> Path:
    """A folder that holds a model, or what it lacks."""
    if not (folder / "config.json").is_file():
        raise ModelUnavailable("unknown_model", f"{folder} holds no config.json; expected a folder that `save_pretrained` has written.")
    if not any(folder.glob(WEIGHTS)):
        raise ModelUnavailable("unknown_model", f"{folder} holds no weights; expected model.safetensors beside its config.json.")
    if not (folder / "tokenizer_config.json").is_file() and not (folder / "tokenizer.json").is_file():
        raise ModelUnavailable("unknown_model", f"{folder} holds no tokenizer; save the model's tokenizer into it (`save_pretrained`).")
    return folder


def digest(folder: Path) -> str:
    """Twelve characters that change with the model."""
    found = hashlib.sha256()
    weights = sorted(folder.glob(WEIGHTS))
    for path in [*(folder / name for name in TOLD), *weights]:
        if path.is_file():
            found.update(f"{path.name}\0{path.stat().st_size}\0".encode())
            _read_into(found, path)
    return found.hexdigest()[:12]


def _read_into(found: hashlib._Hash, path: Path) -> None:
    size = path.stat().st_size
    pages = -(-size // PAGE)
    with path.open("rb") as file:
        for place in range(min(pages, PAGES)):
            file.seek(place * PAGE if pages <= PAGES else place * (size - PAGE) // (PAGES - 1))
            found.update(file.read(PAGE))
