"""What a folder holds: a whole model, or an adapter (LoRA, Hu et al. 2021) that names its base; in a run's folder it is in `model/`.

A folder with whole weights and an `adapter_config.json` left over from before they were merged, as the published repository has it, is a
whole model; loading it warns that the leftover is ignored. Nothing here needs torch; a name that is no
folder is one of the hub.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from edgeworth.errors import ModelUnavailable

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
BUNDLED = {name: CHECKPOINTS / name for name in ("pocket", "pocket_designer")}
"""The language models in the package, by name."""
MODEL = "model"
"""The folder within a run's folder that holds what was trained."""
ADAPTER = "adapter_config.json"
WEIGHTS = "*.safetensors"
SMALL_FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
"""Files beside the weights that decide replies."""
PAGE = 2**16
PAGES = 512
"""A file of up to 32 MiB is read whole."""


@dataclass(frozen=True)
class Found:
    """Where a model is."""

    name: str
    """What errors and cards call it."""
    base: Path
    adapter: Path | None = None


def find(model: str, revision: str | None = None) -> Found:
    """A model by name: a bundled one, a folder, a run's folder, or a name on the hub."""
    folder = local_folder(model)
    if folder is None:
        from edgeworth.llm.local.hub import download

        folder = download(model, revision)
    if is_adapter(folder):
        return Found(model, _base_of(folder), adapter=folder)
    return Found(model, checked_folder(folder))


def local_folder(model: str) -> Path | None:
    """The folder that a name means on this machine, if it means one."""
    if model in BUNDLED and BUNDLED[model].is_dir():
        return BUNDLED[model]
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return None
    return folder / MODEL if (folder / MODEL).is_dir() else folder


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter and no whole model."""
    whole = (folder / "config.json").is_file() and any(folder.glob(f"model{WEIGHTS}"))
    return (folder / ADAPTER).is_file() and not whole


def checked_folder(folder: Path) -> Path:
    """A folder that holds a whole model, or what it lacks."""
    if not (folder / "config.json").is_file():
        raise ModelUnavailable("unknown_model", f"{folder} holds no config.json; expected a folder that `save_pretrained` has written.")
    if not any(folder.glob(WEIGHTS)):
        raise ModelUnavailable("unknown_model", f"{folder} holds no weights; expected model.safetensors beside its config.json.")
    if not (folder / "tokenizer_config.json").is_file() and not (folder / "tokenizer.json").is_file():
        raise ModelUnavailable("unknown_model", f"{folder} holds no tokenizer; save the model's tokenizer into it (`save_pretrained`).")
    return folder


def base_name(adapter: Path) -> str:
    """The base model that an adapter names; a bundled one by its name, wherever the package was when the adapter was trained."""
    try:
        named = str(json.loads((adapter / ADAPTER).read_text(encoding="utf-8"))["base_model_name_or_path"])
    except (ValueError, KeyError, TypeError) as error:
        raise ModelUnavailable("unknown_model", f"{adapter / ADAPTER} names no base model; expected base_model_name_or_path.") from error
    return next((name for name, folder in BUNDLED.items() if Path(named).parts[-3:] == folder.parts[-3:]), named)


def _base_of(adapter: Path) -> Path:
    """The folder of an adapter's base."""
    base = base_name(adapter)
    try:
        found = find(base)
    except ModelUnavailable as error:
        raise ModelUnavailable(error.reason, f"The base of the adapter {adapter}: {error}") from error
    if found.adapter is not None:
        raise ModelUnavailable("bad_request", f"The adapter {adapter} names another adapter as its base, {base}; merge that one first.")
    return found.base


# What a model is known by


def digest(folder: Path) -> str:
    """Twelve characters that change with the files that decide replies, so that a cache keeps retrained models apart.

    Of a large file, pages spread over its whole length are read: training moves every weight. With an adapter its base counts too.
    """
    found = hashlib.sha256()
    small = (*SMALL_FILES, ADAPTER) if is_adapter(folder) else SMALL_FILES
    for path in [*(folder / name for name in small), *sorted(folder.glob(WEIGHTS))]:
        if path.is_file():
            found.update(f"{path.name}\0{path.stat().st_size}\0".encode())
            _read_into(found, path)
    if is_adapter(folder) and (base := local_folder(base_name(folder))) is not None:
        found.update(digest(base).encode())
    return found.hexdigest()[:12]


def _read_into(found: hashlib._Hash, path: Path) -> None:
    size = path.stat().st_size
    pages = -(-size // PAGE)
    with path.open("rb") as file:
        for place in range(min(pages, PAGES)):
            file.seek(place * PAGE if pages <= PAGES else place * (size - PAGE) // (PAGES - 1))
            found.update(file.read(PAGE))
