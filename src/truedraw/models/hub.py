"""Fetching "org/name" from the hub with huggingface_hub, an optional extra."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from socket import gaierror
from ssl import SSLError
from typing import Any

from truedraw.errors import BadModelFile, PullError, TruedrawError, UnknownModel, UnsupportedModel
from truedraw.models.cache import FULL, disk_errors, folder_name, models_folder, staging
from truedraw.models.checkpoint import Progress
from truedraw.models.openvino_ir import GRAPH
from truedraw.models.pull import silent
from truedraw.models.sums import has_its_sums, keep_others, write_sums

WANTED = ("*.json", "*.jinja", "*.safetensors", "openvino_model.xml", "openvino_model.bin")
UNWANTED = ("*/*",)  # other formats and experiments live in subfolders
WEIGHTS = re.compile(r"^[^/]+\.safetensors$|^openvino_model\.bin$")
SHOWN = 4  # names of files in a message
MAX_REASON = 300  # characters of an error from below that a message repeats
OF_THE_DISK = (*FULL, errno.EROFS, errno.EACCES, errno.EIO, errno.EFBIG, errno.ENAMETOOLONG)
NEVER = 1e9  # seconds between two drawings of a bar that nobody sees


def is_hub_name(name: str) -> bool:
    """True for "org/name" as the hub spells names."""
    return re.fullmatch(r"[\w.-]+/[\w.-]+", name, re.ASCII) is not None and not name.startswith((".", "-"))


def pulled_folder(name: str, cache: Path | None = None) -> Path | None:
    """The model's folder where it is in the cache already."""
    folder = models_folder(cache) / folder_name(name)
    return folder if folder.is_dir() else None


def pull_from_hub(
    name: str, *, check: Callable[[Path], object], cache: Path | None = None, progress: Progress | None = None,
    verify: bool = False,
) -> Path:  # fmt: skip
    """Fetch a model unless it is there, `verify`: and can be opened; returns its folder.

    `check` opens the folder before it counts as fetched and raises what is wrong with it. Raises PullError
    and UnknownModel; nothing half is left.
    """
    models = models_folder(cache)
    with disk_errors(name, models), staging(models, name) as work:
        found = pulled_folder(name, cache)
        if found is None or (verify and _is_damaged(found, check)):
            folder = work / "model"
            _download(name, folder, progress or silent)
            _check(name, folder, check)
            write_sums(folder)
            if found is not None:
                keep_others(found, folder)
                found.replace(work / "damaged")
            found = folder.replace(models / folder_name(name))
        return found


def _is_damaged(folder: Path, check: Callable[[Path], object]) -> bool:
    try:
        check(folder)
    except TruedrawError:  # it was none when it was fetched
        return True
    return not has_its_sums(folder)


def _check(name: str, folder: Path, check: Callable[[Path], object]) -> None:
    """What is wrong is said of the model's name: the folder is ours, and gone by then."""
    try:
        check(folder)
    except (BadModelFile, UnsupportedModel) as error:
        raise type(error)(str(error).replace(str(folder), name)) from error


def _download(name: str, folder: Path, tell: Progress) -> None:
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError:
        raise PullError(f"{name} is a name on the hub, which needs an extra: pip install 'truedraw[hub]'") from None
    with _told(name, errors):
        files = [each.rfilename for each in huggingface_hub.HfApi().model_info(name).siblings or ()]
    _check_kind(name, files)
    with _told(name, errors):
        huggingface_hub.snapshot_download(
            name,
            local_dir=folder,
            allow_patterns=list(WANTED),
            ignore_patterns=list(UNWANTED),
            tqdm_class=_bars(f"fetching {name}", tell),
        )


@contextmanager
def _told(name: str, errors: Any) -> Iterator[None]:
    """What huggingface_hub raises, its own `errors` among it, as PullError and UnknownModel."""
    try:
        yield
    except errors.GatedRepoError as error:
        raise PullError(f"{name} is gated: accept its terms on the hub, then log in with `hf auth login`") from error
    except errors.RepositoryNotFoundError as error:
        raise UnknownModel(f"the hub has no model {name!r}, or none that you may see; check the spelling") from error
    except OSError as error:
        if error.errno in OF_THE_DISK and not isinstance(error, gaierror | SSLError):
            raise
        raise _not_fetched(name, error) from error
    except Exception as error:  # of whatever huggingface_hub speaks HTTP with
        raise _not_fetched(name, error) from error


def _check_kind(name: str, files: Sequence[str]) -> None:
    """Raises UnsupportedModel, before anything is fetched, for a model that no engine here could open."""
    if any(file in files for file in (GRAPH, "config.json")) and any(map(WEIGHTS.search, files)):
        return
    packed = [file for file in files if file.endswith(".gguf")]
    if packed:
        raise UnsupportedModel(
            f"{name} holds GGUF files ({', '.join(packed[:SHOWN])}{', ...' if len(packed) > SHOWN else ''}); fetch one "
            f"with `hf download {name} FILE --local-dir .` and give its path"
        )
    raise UnsupportedModel(
        f"{name} holds neither config.json with *.safetensors nor an OpenVINO IR; a model whose weights are pickles is "
        "not read: save it with safe_serialization=True, or choose another"
    )


def _not_fetched(name: str, error: Exception) -> PullError:
    return PullError(f"{name} could not be fetched from the hub: {_in_one_line(error)}")


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:MAX_REASON] or type(error).__name__


def _bars(what: str, tell: Progress) -> type[Any]:
    """A progress bar class for huggingface_hub that draws nothing and reports bytes."""
    from huggingface_hub.utils import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **settings: Any) -> None:
            self.counts_bytes = settings.get("unit") == "B"
            self.done = int(settings.get("initial") or 0)
            super().__init__(*args, **{**settings, "file": StringIO(), "mininterval": NEVER})

        def update(self, n: float | None = 1) -> None:
            self.done += int(n or 0)
            super().update(n)
            if self.counts_bytes:
                tell(what, self.done, int(self.total) if self.total else None)

    return Bar
