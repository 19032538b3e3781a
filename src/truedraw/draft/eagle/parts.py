"""Tensors that a draft may have or lack: without one that its config promises it would be another network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from truedraw.draft.eagle.names import EMBEDDING, LAST_NORM, READ_NORM, STREAM_NORM, TEXT_NORM, THIRD, Names
from truedraw.draft.eagle.settings import LAYER_CONFIG, SPECULATORS
from truedraw.errors import BadFile
from truedraw.models.fields import Fields

Has = Callable[[str], bool]
NORMED_HEADS = "qwen3"  # the type of layers that norm each head


def check_parts(names: Names, said: Fields, has: Has) -> None:
    """Raises BadFile where the tensors contradict what the config of the folder says, or one another."""
    norms = {"norm_before_fc": READ_NORM, "fc_norm": STREAM_NORM.format(0)}
    for switch, norm in norms.items():
        if said.switch(switch) != has(norm):
            raise BadFile(f"{said.where}: {switch} and the tensor {norm} contradict each other")
    if all(map(has, norms.values())):
        raise BadFile(f"{said.where}: {' and '.join(norms)} are both true, which no draft that is known here has")
    _check_head_norms(names, said, has)
    if said.get(SPECULATORS) == "eagle":
        _check_all(said, "layernorms", [TEXT_NORM, names.of("input_layernorm.weight"), LAST_NORM], has)
        _check_all(said, "fusion_bias", [names.fusion + ".bias"], has)


def check_widths(names: Names, said: Fields, target: int, width: int, has: Has) -> None:
    """Of the target's states and of the draft's own; raises BadFile."""
    if target == width:
        return
    if names.version != THIRD:
        raise BadFile(
            f"{said.where}: target_hidden_size is {target} and hidden_size {width}; a draft of this kind reads states "
            "as wide as its own"
        )
    if not has(EMBEDDING):
        raise BadFile(
            f"{said.where.parent} lacks {EMBEDDING}, which a draft of another width needs: its hidden_size is {width}, "
            f"and target_hidden_size {target}; fetch or train it again"
        )


def _check_head_norms(names: Names, said: Fields, has: Has) -> None:
    """Of queries and keys: both or neither, and both in layers of that type where the config tells of a layer."""
    both = [names.of(f"self_attn.{each}_norm.weight") for each in "qk"]
    layer = said.get(LAYER_CONFIG)
    wanted = names.version == THIRD and layer is not None and layer.get("model_type") == NORMED_HEADS
    missing = [name for name in both if not has(name)]
    if missing and (wanted or len(missing) < len(both)):
        raise BadFile(f"{said.where.parent} lacks {', '.join(missing)}; fetch or train it again")


def _check_all(said: Fields, switch: str, tensors: Sequence[str], has: Has) -> None:
    """All of them or none, as the switch says where it is there."""
    is_said = said.get(switch) is not None
    wanted = said.switch(switch) if is_said else any(map(has, tensors))
    if wrong := [name for name in tensors if has(name) != wanted]:
        why = f"{switch} is {str(wanted).lower()}" if is_said else "has others that come with it"
        what = f"{'lacks' if wanted else 'holds'} {', '.join(wrong)}"
        raise BadFile(f"{said.where.parent} {what}, and {why}; fetch or train it again")
