"""The record of a model on disk, whatever its form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from truedraw.errors import BadModelFile
from truedraw.models.fingerprint import digest_of
from truedraw.protocol import ModelConfig, Weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Kind = Literal["gguf", "huggingface", "openvino"]
Progress = Callable[[str, int, int | None], None]
"""Called with (what is happening, units done, units in all or None): bytes while fetching and verifying."""


class LacksWeights(BadModelFile):
    """The weights of a folder are not there; its settings and its text were found good before."""


@dataclass(frozen=True, slots=True)
class TextParts:
    """What a checkpoint says of its text: the tokenizer, the special tokens, the chat template."""

    load_tokenizer: Callable[[], Tokenizer] = field(repr=False)  # builds when called; BadModelFile, UnsupportedModel
    chat_template: str | None = None  # jinja source
    tool_template: str | None = None  # likewise, where a conversation has tools and the model another one for it
    bos_id: int | None = None
    eos_ids: tuple[int, ...] = ()  # any of them ends a text
    pad_id: int | None = None
    description: str = ""  # for people, "byte-level BPE (smollm)"
    template_names: Mapping[str, str] = field(default_factory=dict)  # what a chat template calls its special tokens


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model that was found and checked: the files are complete, no weight is in memory yet."""

    name: str  # as it was asked for
    path: Path  # the GGUF file or the folder; absolute, for what is read after the process has changed its own folder
    kind: Kind
    config: ModelConfig
    weights: Weights | None  # None: an OpenVINO IR folder, whose graph holds them
    text: TextParts
    fingerprint: str  # of the contents, 32 hexadecimal digits; the same for the same files wherever they lie
    size_bytes: int
    sampling_defaults: dict[str, Any] = field(default_factory=dict)  # of generation_config.json
    licence: str | None = None
    mtp_layers: int = 0  # multi-token prediction layers that the files carry beside the model, see mtp.py
    sha256: str | None = None  # that the file should have, where the catalogue knows it

    def check_contents(self) -> None:
        """Read the whole file; raises BadModelFile where it is not the one that the catalogue promises."""
        if self.sha256 is None:
            return
        found = digest_of(self.path)
        if found != self.sha256:
            raise BadModelFile(
                f"{self.path} is damaged: its sha256 is {found}, not {self.sha256}; "
                f"`truedraw models pull {self.name}` fetches it anew"
            )
