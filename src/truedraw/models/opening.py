"""From a name to a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from errno import ENAMETOOLONG
from functools import partial
from pathlib import Path
from typing import TypeGuard

from truedraw.errors import BadFile, BadModelFile, UnknownModel, UnsupportedModel
from truedraw.home_folder import expanded, from_root
from truedraw.models.catalogue import CATALOGUE
from truedraw.models.checkpoint import Checkpoint, LacksWeights, Progress
from truedraw.models.folder_text import load_tokenizer
from truedraw.models.gguf import open_gguf
from truedraw.models.hub import Checks, Notice, is_hub_name, pull_from_hub, pulled_folder, unheard
from truedraw.models.huggingface import open_huggingface
from truedraw.models.openvino_ir import GRAPH, open_openvino
from truedraw.models.pull import pull
from truedraw.models.safetensors_weights import check_lengths

OpenFolder = Callable[[str, Path], Checkpoint]
LEAST_CONTEXT = 2  # tokens: a prompt, and one behind it


def open_checkpoint(
    name: str | Path,
    *,
    cache: Path | None = None,
    progress: Progress | None = None,
    open_folder: OpenFolder = open_huggingface,
    verify: bool = False,
    notice: Notice = unheard,
) -> Checkpoint:
    """Find a model, fetching it if need be, and check that it is whole; no weight is read yet.

    A name means, in this order: an entry of the catalogue, a file or folder that exists (write ./name for a
    folder called like an entry), a model on the hub ("org/name"). `cache` is the folder for fetched models,
    by default the user's own; `open_folder` is what reads a Hugging Face folder; `verify` compares a fetched file
    of the catalogue with its checksum, opens a folder from the hub, and fetches anew what is damaged; `notice` is told
    which files of such a folder those were. Raises UnknownModel, UnsupportedModel, BadModelFile, BadFile or PullError.
    """
    path = locate(name, cache=cache, progress=progress, open_folder=open_folder, verify=verify, notice=notice)
    found = open_path(from_root(path), open_folder, str(name))
    return replace(found, sha256=CATALOGUE[name].file_sha256) if is_entry(name) else found


def locate(
    name: str | Path, *, cache: Path | None, progress: Progress | None, open_folder: OpenFolder, verify: bool,
    notice: Notice,
) -> Path:  # fmt: skip
    """The model's file or folder, fetched if need be; options as for `open_checkpoint`."""
    if not str(name).strip():
        raise UnknownModel(f"the model's name is empty; the catalogue has {', '.join(CATALOGUE)}")
    if is_entry(name):
        return pull(CATALOGUE[name], cache=cache, progress=progress, verify=verify)
    path = expanded(name)
    if _is_there(path):
        return path
    if isinstance(name, str) and is_hub_name(name) and path.suffix != ".gguf":
        checks = Checks(*(partial(check, open_folder=open_folder) for check in (_check_settings, _check_fetched)))
        there = None if verify else pulled_folder(name, cache)
        return there or pull_from_hub(name, checks, cache=cache, progress=progress, verify=verify, notice=notice)
    if isinstance(name, Path) or path.suffix == ".gguf" or path.name != name:
        raise BadFile(
            f"there is no file or folder {str(name)!r}; give a GGUF file, a model folder or a model name, which "
            "on the hub is org/name, with no revision and no file"
        )
    raise UnknownModel(_unknown(name))


def _check_settings(folder: Path, open_folder: OpenFolder) -> None:
    """Raises what is wrong with it whatever its weights are, which are not there yet."""
    try:
        open_path(folder, open_folder)
    except LacksWeights:
        load_tokenizer(folder / "tokenizer.json")
    except UnsupportedModel:
        raise
    except Exception:  # another reader may have missed the weights
        if open_folder is open_huggingface:
            raise


def _check_fetched(folder: Path, open_folder: OpenFolder) -> None:
    """Raises what is wrong with it, also where the engine that reads it would find that only later."""
    found = open_path(folder, open_folder)
    found.text.load_tokenizer()
    if found.kind == "huggingface":
        check_lengths(folder)


def open_path(path: Path, open_folder: OpenFolder, name: str = "") -> Checkpoint:
    """The checkpoint in a GGUF file, a Hugging Face folder or an OpenVINO IR folder."""
    named = name or str(path)
    try:
        found = _opened(path, named, open_folder)
    except OSError as error:
        raise BadModelFile(f"{error.filename or path} cannot be read: {error.strerror or error}") from error
    if found.config.context_length < LEAST_CONTEXT:
        raise UnsupportedModel(f"{named} has a context of one token, without room for one behind a prompt")
    return found


def _opened(path: Path, named: str, open_folder: OpenFolder) -> Checkpoint:
    if path.is_file():
        return open_gguf(named, path)
    if not path.is_dir():
        raise BadFile(f"{named} is neither a file nor a folder; give a GGUF file or a model folder")
    if (path / GRAPH).exists():
        return open_openvino(named, path)
    if (path / "config.json").exists():
        return open_folder(named, path)
    files = sorted(path.glob("*.gguf"))
    if len(files) == 1:
        return open_gguf(named, files[0])
    raise BadModelFile(
        f"{path} is not a model folder: it has neither config.json nor {GRAPH}"
        + (f"; it holds {len(files)} GGUF files, name one of them" if files else "")
    )


def _is_there(path: Path) -> bool:
    """False, too, for what no file system takes as a name; raises BadFile where it cannot be told."""
    try:
        return path.exists()
    except ValueError:  # a name with a zero byte, or half a surrogate pair
        return False
    except OSError as error:
        if error.errno == ENAMETOOLONG:
            return False
        raise BadFile(f"{str(path)!r} cannot be looked at: {error.strerror}; give another path") from error


def is_entry(name: str | Path) -> TypeGuard[str]:
    """Whether it is one of the catalogue, which counts before a file that is called so."""
    return isinstance(name, str) and name in CATALOGUE


def _unknown(name: str) -> str:
    near = get_close_matches(name, CATALOGUE, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}" if near else f"the catalogue has {', '.join(CATALOGUE)}"
    return f"there is no model {name!r}; {hint}; a GGUF file, a model folder or org/name on the hub works too"
