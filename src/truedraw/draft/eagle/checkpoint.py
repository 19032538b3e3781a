"""A folder with a draft: config.json and weights, as EAGLE's repository or speculators write them, or a model."""

from __future__ import annotations

from pathlib import Path

from truedraw.draft.eagle.names import (
    EMBEDDING,
    FUSIONS,
    HEAD,
    MTP,
    MTP_NAMES,
    OUTER,
    THIRD,
    UNREAD,
    Names,
    find_names,
)
from truedraw.draft.eagle.parts import check_parts, check_widths
from truedraw.draft.eagle.settings import (
    CONFIG,
    DRAFTED,
    drafts_fewer,
    eagle_config,
    layer_config,
    mtp_config,
    speculators_type,
    told_layers,
)
from truedraw.draft.folder_tensors import TO_DRAFT, TO_TARGET, FolderTensors
from truedraw.draft.head.medusa.folder import is_medusa
from truedraw.errors import BadFile, BadParameter
from truedraw.models.fields import Fields, read_json
from truedraw.models.mtp import check_layers, declared_layers
from truedraw.protocol import Ints, Logits, ModelConfig

LAYERS_OF_A_MODEL = "model.layers."  # a draft has one layer, of another name


def is_eagle(path: Path) -> bool:
    """Whether a draft is one of these to read, by what kind of folder it is; whether it can be, EagleFolder says."""
    return (path / CONFIG).is_file() and not is_medusa(path)


def holds_eagle(path: Path) -> bool:
    """Whether such a folder has the tensors of a draft, rather than those of a whole model, say.

    Raises BadFile where they cannot be read.
    """
    return is_eagle(path) and find_names([*_tensors(path)], None) is not None


class EagleFolder:
    """The settings and tensors of one folder; raises BadFile for what is missing, cut, damaged or something else.

    Tensors are read when they are asked for, and nothing is kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._values = Fields(path / CONFIG, read_json(path / CONFIG))
        if self._values.get("hydra_num_heads") is not None:
            raise BadFile(f"{path} holds heads of Hydra's own repository, which are not read; train some: --kind hydra")
        self._tensors = _tensors(path)
        if count := declared_layers(self._values):
            self._take_mtp(count)
        else:
            self._take_eagle()
        self._check()

    @property
    def is_third(self) -> bool:
        """EAGLE-3; else the first."""
        return self.names.version == THIRD

    @property
    def is_mtp(self) -> bool:
        """A layer for multi-token prediction that comes with its model."""
        return self.names.version == MTP

    @property
    def target_width(self) -> int:
        """Of the hidden states that it reads."""
        return self._values.positive("target_hidden_size", self.config.hidden_size)

    @property
    def norm_before_residual(self) -> bool:
        """EAGLE-3: whether what is added to the attention's output was normed before."""
        return self._values.switch("norm_before_residual")

    @property
    def norm_output(self) -> bool:
        """EAGLE-3.1: whether it goes on with its own states behind the last norm, as an MTP layer does."""
        return self.is_mtp or self._values.switch("norm_output")

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return name in self._tensors

    def matrix(self, name: str, shape: tuple[int, int]) -> Logits:
        """A matrix of this shape, float32."""
        return self._tensors.numbers(name, shape)

    def vector(self, name: str, size: int) -> Logits:
        """A gain or a bias [size]."""
        return self._tensors.numbers(name, (size,))

    def rows(self, name: str) -> int:
        """Output rows of a matrix."""
        shape = self._tensors.shape(name)
        return shape[0] if shape else 0

    def width(self, name: str) -> int:
        """Input features of a matrix."""
        shape = self._tensors.shape(name)
        return shape[1] if len(shape) == len(("out", "in")) else 0

    def tokens(self) -> Ints:
        """[known] the target's ids of the draft's own tokens, in the order of its head's rows."""
        return self._tensors.drafted(self.rows(HEAD), self.config.vocab_size)

    def layers(self, num_layers: int) -> tuple[int, ...]:
        """After which layers of a target of so many hidden states are to be shown.

        EAGLE reads the final norm's output, which comes with that of any layer, an MTP layer that of the last one
        before this norm. Raises BadParameter where the target has no such layers.
        """
        if not self.is_third:
            return (num_layers - 1,)
        ids = told_layers(self._values) or [2, num_layers // 2, num_layers - 3]
        if len({*ids}) != len(ids) or not all(1 <= each <= num_layers for each in ids):
            raise BadParameter(
                "draft",
                f"{self.path} reads what enters the layers {[*ids]}, and a target of {num_layers} layers cannot show "
                "that; take the target that it was trained for",
            )
        if self.width(self.names.fusion + ".weight") != len(ids) * self.target_width:
            raise BadFile(f"{self.path} is damaged: its {self.names.fusion} does not read {len(ids)} hidden states")
        return tuple(sorted(each - 1 for each in ids))

    def check_all_read(self, read: set[str]) -> None:
        """Raises BadFile where there are tensors that nobody has read: the network would be another one."""
        known = read | {*UNREAD, EMBEDDING, TO_TARGET, TO_DRAFT}
        if left := sorted(name for name in self._tensors if name not in known and not name.endswith("inv_freq")):
            raise BadFile(f"{self.path} holds {', '.join(left[:3])}, which no EAGLE draft that is known here has")

    def _take_eagle(self) -> None:
        said = speculators_type(self.path, self._values.values)
        names = find_names([*self._tensors], said, fewer=drafts_fewer(self._values))
        if names is None:
            is_model = any(name.startswith(LAYERS_OF_A_MODEL) for name in self._tensors)
            hint = (
                "a model that is to draft is named by --spec-model (model in Python)"
                if is_model
                else "see docs/drafts.md"
            )
            raise BadFile(f"{self.path} holds no EAGLE draft: its tensors lack the layer or the fc of one; {hint}")
        self.names: Names = names
        self.config: ModelConfig = layer_config(self._values)

    def _take_mtp(self, count: int) -> None:
        """All layers are looked at, and the first is taken: it drafts at every place. The model itself is left out."""
        self.names, self.config = MTP_NAMES, mtp_config(self._values)
        check_layers(self.path, self.config, count, {name: self._tensors.shape(name) for name in self._tensors})
        self._tensors.keep(MTP_NAMES.layer)

    def _check(self) -> None:
        for key in ("parallel_drafting", *(() if self.is_third else ("norm_output", "fc_norm"))):
            self._values.refuse(key)
        own = eagle_config(self._values)
        own.refuse("use_aux_hidden_state", (None, self.is_third))
        own.refuse("use_last_layernorm", (None, True) if self.is_third else (None, False, True))
        check_widths(self.names, self._values, self.target_width, self.config.hidden_size, self.has)
        heads, shared, width = self.config.num_heads, self.config.num_kv_heads, self.config.head_dim
        if heads % shared or width % 2:
            raise BadFile(
                f"{self.path / CONFIG}: {shared} heads cannot serve {heads}, or {width} numbers be turned in pairs"
            )
        if self.config.num_layers != 1:
            raise BadFile(f"{self.path} has {self.config.num_layers} layers; EAGLE drafts of one are known here")
        check_parts(self.names, self._values, self.has)
        if self.is_third:
            self._check_rows()

    def _check_rows(self) -> None:
        if self._values.get(DRAFTED) is None:
            return
        said, found = self._values.positive(DRAFTED), self.rows(HEAD)
        if said != found:
            raise BadFile(f"{self.path / CONFIG}: {DRAFTED} is {said}, and {HEAD} has {found} rows; fetch it again")


def _tensors(path: Path) -> FolderTensors:
    """Those of the draft by their own names."""
    found = FolderTensors(path)
    if any(f"{OUTER}{fusion}.weight" in found for fusion in FUSIONS):
        found.rename(OUTER)
    return found
