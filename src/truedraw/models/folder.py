"""A folder with a config.json, whichever reader takes its sizes and its weights: what else it says of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from truedraw.models.checkpoint import Checkpoint, Kind, TextParts
from truedraw.models.fingerprint import fingerprint
from truedraw.models.folder_text import folder_text, sampling_defaults
from truedraw.protocol import ModelConfig, Weights


class Folder(NamedTuple):
    """What was read of it before its weights."""

    path: Path
    text: TextParts
    sampling_defaults: dict[str, Any]
    licence: str | None

    @classmethod
    def of(cls, path: Path, values: dict[str, Any], vocab_size: int) -> Folder:
        """`values` is config.json's content; raises BadModelFile and UnsupportedModel."""
        return cls(path, folder_text(path, values, vocab_size), sampling_defaults(path), values.get("license"))

    def checkpoint(
        self, name: str, kind: Kind, config: ModelConfig, files: Sequence[Path], weights: Weights | None = None,
        mtp_layers: int = 0,
    ) -> Checkpoint:  # fmt: skip
        """The model, known by the contents of these files; for the rest see Checkpoint."""
        return Checkpoint(
            name=name,
            path=self.path,
            kind=kind,
            config=config,
            weights=weights,
            text=self.text,
            fingerprint=fingerprint(files),
            size_bytes=sum(file.stat().st_size for file in files),
            sampling_defaults=self.sampling_defaults,
            licence=self.licence,
            mtp_layers=mtp_layers,
        )
