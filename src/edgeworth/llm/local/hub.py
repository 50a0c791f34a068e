"""Models from the Hugging Face hub, downloaded before or now, and models that are published there.

A name that is no folder is one of the hub. What was downloaded before is taken without asking anybody; the hub is asked once, with a
short limit, and when it does not answer, the error says how to go on without it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from huggingface_hub import HfApi, errors, snapshot_download

from edgeworth.errors import ModelUnavailable
from edgeworth.llm.local.folders import ADAPTER, checked_folder, is_adapter

HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
NEEDED = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt"]
PUBLISHED = [*NEEDED, "*.md", "*.png"]
ANSWER_SECONDS = 10.0


def is_folder_name(model: str) -> bool:
    """Whether a name can only be that of a folder."""
    return model.startswith((".", "~", os.sep)) or HUB_NAME.fullmatch(model) is None


def download(model: str, revision: str | None) -> Path:
    """The folder that holds a model of the hub, whole or an adapter."""
    if is_folder_name(model):
        raise ModelUnavailable(
            "unknown_model",
            f"There is no folder {model}; expected a folder with a model, or a name on the hub such as Qwen/Qwen2.5-1.5B-Instruct.",
        )
    return _downloaded(model, revision) or _download(model, revision)


def _complete(folder: str) -> Path:
    """A downloaded folder that has everything a model needs."""
    return Path(folder) if is_adapter(Path(folder)) else checked_folder(Path(folder))


def _downloaded(model: str, revision: str | None) -> Path | None:
    """The model, if it was downloaded before, whole."""
    try:
        return _complete(snapshot_download(model, revision=revision, allow_patterns=NEEDED, local_files_only=True))
    except (errors.LocalEntryNotFoundError, errors.HFValidationError, ModelUnavailable):
        return None


def _download(model: str, revision: str | None) -> Path:
    try:
        HfApi().model_info(model, revision=revision, timeout=ANSWER_SECONDS)
        return _complete(snapshot_download(model, revision=revision, allow_patterns=NEEDED))
    except ModelUnavailable:
        raise
    except Exception as error:  # every kind of broken connection
        raise _sentence(error, model, revision) from error


def upload(folder: Path, repo_id: str, private: bool) -> str:
    """Publish a folder with a whole model; the address of what is new there is returned."""
    if (folder / ADAPTER).is_file():
        raise ModelUnavailable("bad_request", f"{folder} holds {ADAPTER}; publish a merged model, which `edgeworth designer merge` writes.")
    try:
        api = HfApi()
        api.create_repo(repo_id, private=private, exist_ok=True)
        told = f"Upload {folder.resolve().name}"
        done = api.upload_folder(repo_id=repo_id, folder_path=checked_folder(folder), allow_patterns=PUBLISHED, commit_message=told)
    except ModelUnavailable:
        raise
    except Exception as error:  # every kind of broken connection
        raise _upload_sentence(error, repo_id) from error
    return str(done.commit_url)


def _upload_sentence(error: Exception, repo_id: str) -> ModelUnavailable:
    """Why a model could not be published, and what to do."""
    if isinstance(error, errors.HFValidationError):
        return ModelUnavailable("bad_request", f"{repo_id!r} is no name of a repository; expected OWNER/NAME, such as ada/designer.")
    status = error.response.status_code if isinstance(error, errors.HfHubHTTPError) else None
    if status in (401, 403):
        return ModelUnavailable(
            "unauthorized", f"The hub does not let you write to {repo_id}; put a token with the right to write into HF_TOKEN."
        )
    reason = " ".join(str(error).split())[:160]
    if status is not None:
        return ModelUnavailable("unreachable", f"The hub refused {repo_id} ({status}): {reason}")
    return ModelUnavailable("unreachable", f"{_silence(error)}, so {repo_id} was not published ({reason}); try again when it is there.")


def _sentence(error: Exception, model: str, revision: str | None) -> ModelUnavailable:
    """Why a model could not be had from the hub, and what to do."""
    if isinstance(error, errors.GatedRepoError):
        return ModelUnavailable(
            "unauthorized", f"Access to {model} is granted by its owner; ask on its page, then put your key into HF_TOKEN."
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return ModelUnavailable(
            "unknown_model", f"{model} has no revision {revision!r}; leave it out, or name one of its branches or tags."
        )
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        return ModelUnavailable(
            "unknown_model",
            f"The hub has no model {model!r}, and there is no such folder; see huggingface.co/models. A private one needs HF_TOKEN.",
        )
    if isinstance(error, OSError) and error.errno is not None and not isinstance(error, ConnectionError | TimeoutError):
        return ModelUnavailable("unreachable", f"{model} could not be downloaded: {error.strerror or error}. Fix that and try again.")
    return ModelUnavailable(
        "unreachable",
        f"{_silence(error)}, and {model} was not downloaded before. Download it where there is a network "
        f"(`hf download {model} --local-dir FOLDER`) and pass the folder, or use the client `pocket`, which works offline.",
    )


def _silence(error: Exception) -> str:
    """Why the hub said nothing."""
    offline = isinstance(error, errors.OfflineModeIsEnabled) or os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    return "HF_HUB_OFFLINE is set, so the hub was not asked" if offline else "The hub did not answer"
