"""What a repository on the hub holds, and which of its files a model here needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from truedraw.errors import BadModelFile, PullError, UnsupportedModel
from truedraw.models.folder_text import TEMPLATES
from truedraw.models.openvino_ir import GRAPH, WEIGHTS
from truedraw.models.safetensors_weights import weight_names

SETTINGS = (".json", ".jinja")
SHOWN = 4  # names of files in a message


class Repository(NamedTuple):
    """One state of it."""

    commit: str | None
    sizes: Mapping[str, int]  # bytes of its files; 0 where the hub does not say
    sums: Mapping[str, str | None]  # the sha256 of its files; None where the hub does not say, as of small ones

    @classmethod
    def of(cls, info: Any) -> Repository:
        """As huggingface_hub tells of it."""
        files = info.siblings or ()
        sums = {file.rfilename: getattr(getattr(file, "lfs", None), "sha256", None) for file in files}
        return cls(info.sha, {file.rfilename: file.size or 0 for file in files}, sums)

    @property
    def top(self) -> list[str]:
        """The files in no subfolder, where other formats and experiments live."""
        return [name for name in self.sizes if "/" not in name]

    @property
    def is_graph(self) -> bool:
        """Whether it is opened as an OpenVINO IR, and what else it holds is not."""
        return {GRAPH, WEIGHTS} <= set(self.top)

    def settings(self) -> list[str]:
        """What can be checked before there are weights."""
        found = [name for name in self.top if name.endswith(SETTINGS) or (self.is_graph and name == GRAPH)]
        return found + [name for name in self.sizes if name.rpartition("/")[0] == TEMPLATES and name.endswith(".jinja")]

    def weights(self, folder: Path) -> list[str]:
        """Those that will be opened; `folder` holds the settings. Raises BadModelFile where they are not there."""
        names = [WEIGHTS] if self.is_graph else weight_names(folder, self.top)
        lacking = [name for name in names if name not in self.sizes]
        if lacking:
            raise BadModelFile(f"{folder} lacks {lacking[0]}, which its index names; choose another model")
        return names

    def check_contents(self, name: str, found: Mapping[str, str]) -> None:
        """Raises PullError where a file that came has another sha256 than the hub says."""
        for file, sha256 in found.items():
            expected = self.sums.get(file)
            if expected and sha256 != expected:
                raise PullError(
                    f"{name}: {file} has the sha256 {sha256}, and the hub says {expected}; nothing was kept, try again"
                )

    def check_kind(self, name: str) -> None:
        """Raises UnsupportedModel for a model that no engine here could open."""
        if self.is_graph or ("config.json" in self.top and any(each.endswith(".safetensors") for each in self.top)):
            return
        packed = [file for file in self.sizes if file.endswith(".gguf")]
        if packed:
            raise UnsupportedModel(
                f"{name} holds GGUF files ({', '.join(packed[:SHOWN])}{', ...' if len(packed) > SHOWN else ''}); fetch "
                f"one with `hf download {name} FILE --local-dir .` and give its path"
            )
        raise UnsupportedModel(
            f"{name} holds neither config.json with *.safetensors nor an OpenVINO IR; a model whose weights are "
            "pickles is not read: save it with safe_serialization=True, or choose another"
        )
