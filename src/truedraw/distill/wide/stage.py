"""What comes before training, where the target is a model of transformers: texts, and rows on its device."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from truedraw.distill.computing import CHECKED_ROWS, Computed, check_readout
from truedraw.distill.folders import make_work
from truedraw.distill.further import check_init
from truedraw.distill.gathering import Manner, gather
from truedraw.distill.own_texts import PROMPTS
from truedraw.distill.plan import SHARES, TEXTS, Plan, Tell
from truedraw.distill.preparing import Prepared, enough, for_features, hold_out_enough, shape_of, text_settings
from truedraw.distill.tables import tables_of
from truedraw.distill.texts import Gathered, prompts_of, read_texts
from truedraw.distill.wide.cards import is_card
from truedraw.distill.wide.features import Limit, rows_on
from truedraw.distill.wide.rows import DeviceRows
from truedraw.distill.wide.writing import WideModel
from truedraw.engine.pytorch.casting import cast_weights
from truedraw.engine.pytorch.taps import Taps
from truedraw.engine.pytorch.wide import Drawing, Wanted
from truedraw.engine.pytorch.wide.attention import take_grouped
from truedraw.errors import BadParameter, EngineError

if TYPE_CHECKING:
    from truedraw.generate.model import Model

LEAST_BATCHED = 512  # tokens of a text, which pieces of documents have
ROUND = 8192  # prompts of one, on a card


def is_wide(model: Model) -> bool:
    """Whether its engine runs a model of transformers, whose layers and tables torch shows."""
    from truedraw.engine.pytorch.engine import PyTorchEngine

    return isinstance(model.engine, PyTorchEngine)


def prepared_wide(model: Model, plan: Plan, tell: Tell) -> Prepared:
    """See preparing.prepared."""
    make_work(plan.work)
    check_init(plan.head, model)
    check_batches(model)
    tables = tables_of(model.engine, model.name)
    check_readout(model.engine, tables)
    network = writer_of(model.engine.model)  # type: ignore[attr-defined] # of an engine that is_wide
    texts = _written(model, network, plan, tell)
    data, done = _seen(model, network, plan, texts, tell)
    return enough(Prepared(tables, data, texts, done), plan)


def _written(model: Model, network: Any, plan: Plan, tell: Tell) -> Gathered:
    """Texts of its own, many at once."""
    seconds = None if plan.limits.seconds is None else plan.limits.seconds * SHARES[TEXTS]
    heard = Heard(tell)
    writer: Any = WideModel(model, network, heard.meanwhile)
    if writer.ignored:
        heard.meanwhile(f"drawn without the model's own {', '.join(writer.ignored)}")
    settings = {**text_settings(model, plan), "written": "wide"}
    prompts = ROUND if is_card(network.device) else PROMPTS
    manner = Manner(prompts, least=prompts, ready=writer.ready)  # of which it takes as many as it has room for
    return gather(writer, plan.texts, plan.work, settings, (seconds, heard), plan.overwrite, manner=manner)


def _seen(model: Model, network: Any, plan: Plan, texts: Gathered, tell: Tell) -> tuple[DeviceRows, Computed]:
    """What the model knows at each row of the texts, on its device."""
    engine: Any = model.engine
    taps = Taps(network, tuple(engine.hidden_layers))
    limit = Limit(plan.limits.feature_bytes, for_features(plan, texts), tell)
    data, done = rows_on((network, taps), read_texts(plan.work), shape_of(model), limit)
    if plan.texts.are_given:
        data.hold_out(prompts_of(plan.work))
    hold_out_enough(data, plan)
    return data, done


class Heard:
    """Tells how far texts are, and what is done until more of them are there."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._done = tell, 0.0

    def __call__(self, stage: str, done: float, words: str) -> None:
        """See plan.Tell."""
        self._done = done
        self._tell(stage, done, words)

    def meanwhile(self, words: str) -> None:
        """As far as before."""
        self._tell(TEXTS, self._done, words)


def check_batches(model: Model) -> None:
    """Raises BadParameter for a model of which texts of one batch are not what each is alone."""
    engine: Any = model.engine
    if engine.batched_tokens < min(LEAST_BATCHED, engine.context_length):
        raise BadParameter(
            "--engine", f"{model.name} cannot be trained for here: a text of it in a batch is not what it is alone "
            f"beyond {engine.batched_tokens} tokens; give a model with attention to all of its text"
        )  # fmt: skip


def writer_of(network: Any) -> Any:
    """A copy that writes texts: on a card in float16, where its numbers fit into that, else in bfloat16; on a processor
    as it is."""
    import torch

    if not is_card(network.device):
        return copied(network)
    half = cast_weights(copied(network), torch.float16)
    return half if _is_finite(half) else cast_weights(copied(network), torch.bfloat16)


def copied(network: Any) -> Any:
    """Without what listens to it, which would keep what thousands of texts are."""
    found = deepcopy(network)
    for module in found.modules():
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
    take_grouped(found)
    return found


def _is_finite(network: Any) -> bool:
    """Tried by two texts of different lengths."""
    try:
        Drawing(network, ()).continued([Wanted(range(1), 2), Wanted(range(CHECKED_ROWS), 2)], seed=0)
    except EngineError:
        return False
    return True
