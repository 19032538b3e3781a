"""Fetching "org/name" from the hub with huggingface_hub, an optional extra."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from socket import gaierror
from ssl import SSLError
from typing import Any

from truedraw.errors import PullError, TruedrawError, UnknownModel
from truedraw.models.cache import FULL, disk_errors, folder_name, models_folder, staging
from truedraw.models.checkpoint import Progress
from truedraw.models.pull import silent

WANTED = ("*.json", "*.jinja", "*.safetensors", "openvino_model.xml", "openvino_model.bin")
UNWANTED = ("*/*",)  # other formats and experiments live in subfolders
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
            check(folder)
            if found is not None:
                found.replace(work / "damaged")
            found = folder.replace(models / folder_name(name))
        return found


def _is_damaged(folder: Path, check: Callable[[Path], object]) -> bool:
    try:
        check(folder)
    except TruedrawError:  # it was none when it was fetched
        return True
    return False


def _download(name: str, folder: Path, tell: Progress) -> None:
    try:
        import huggingface_hub
        from huggingface_hub import errors
    except ImportError:
        raise PullError(f"{name} is a name on the hub, which needs an extra: pip install 'truedraw[hub]'") from None
    try:
        huggingface_hub.snapshot_download(
            name,
            local_dir=folder,
            allow_patterns=list(WANTED),
            ignore_patterns=list(UNWANTED),
            tqdm_class=_bars(f"fetching {name}", tell),
        )
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
