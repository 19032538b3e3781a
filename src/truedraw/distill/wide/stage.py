"""What comes before training, where the target is a model of transformers: texts, and rows on its device."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from truedraw.distill.computing import CHECKED_ROWS
from truedraw.distill.folders import make_work
from truedraw.distill.further import check_known
from truedraw.distill.gathering import Manner, gather
from truedraw.distill.own_texts import PROMPTS
from truedraw.distill.plan import SHARES, TEXTS, HeadPlan, Plan, Tell
from truedraw.distill.preparing import Prepared, enough, for_features, text_settings
from truedraw.distill.store import Shape
from truedraw.distill.tables import Tables, check_output
from truedraw.distill.texts import prompts_of, read_texts
from truedraw.distill.wide.cards import is_card
from truedraw.distill.wide.features import Limit, rows_on
from truedraw.distill.wide.writing import WideModel
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
    engine: Any = model.engine
    make_work(plan.work)
    check_before(plan.head, model)
    check_batches(model)
    network = writer_of(engine.model)
    tables = tables_of(network)
    taps = Taps(network, tuple(engine.hidden_layers))
    _check_readout(network, taps, tables)
    seconds = None if plan.limits.seconds is None else plan.limits.seconds * SHARES[TEXTS]
    heard = Heard(tell)
    writer: Any = WideModel(model, network, heard.meanwhile)
    settings = {**text_settings(model, plan), "written": "wide"}
    if writer.ignored:
        heard.meanwhile(f"drawn without the model's own {', '.join(writer.ignored)}")
    manner = Manner(ROUND if is_card(network.device) else PROMPTS, writer.ready)
    texts = gather(writer, plan.texts, plan.work, settings, (seconds, heard), plan.overwrite, manner=manner)
    shape = Shape(len(engine.hidden_layers) + 1, tables.embedding.shape[1])
    limit = Limit(plan.limits.feature_bytes, for_features(plan, texts), tell)
    data, done = rows_on((network, taps), read_texts(plan.work), shape, limit)
    if plan.texts.prompts is not None:
        data.hold_out(prompts_of(plan.work)[: data.num_texts])
    return Prepared(tables, enough(data, (texts, done), plan), texts, done)


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


def check_before(plan: HeadPlan, model: Model) -> None:
    """Raises BadParameter for --init-from with a head of another model: see further.check_init, whose engine drafts."""
    if plan.before is None:
        return
    engine: Any = model.engine
    card = plan.before.file.card
    width = engine.model.get_input_embeddings().weight.shape[1]
    if (card.tokenizer, card.vocab_size, card.width) != (model.tokenizer.fingerprint, engine.vocab_size, width):
        raise BadParameter(
            "--init-from", f"{plan.init_from} is for {card.target}, whose tokens or width are not those of "
            f"{model.name}; give another head, or leave it out"
        )  # fmt: skip
    check_known(plan, plan.before.file)


def check_batches(model: Model) -> None:
    """Raises BadParameter for a model of which texts of one batch are not what each is alone."""
    engine: Any = model.engine
    if engine.batched_tokens < min(LEAST_BATCHED, engine.context_length):
        raise BadParameter(
            "--engine", f"{model.name} cannot be trained for here: a text of it in a batch is not what it is alone "
            f"beyond {engine.batched_tokens} tokens; give a model with attention to all of its text"
        )  # fmt: skip


def tables_of(network: Any) -> Tables:
    """Embedding and output rows of a model of transformers."""
    found = [each.weight.detach().float().cpu().numpy() for each in
             (network.get_input_embeddings(), network.get_output_embeddings())]  # fmt: skip
    embedding, output = found
    return Tables(embedding, embedding if np.array_equal(embedding, output) else output)


def writer_of(network: Any) -> Any:
    """A copy that writes texts: on a card in float16, where its numbers fit into that, else in bfloat16; on a processor
    as it is."""
    import torch

    if not is_card(network.device):
        return copied(network)
    half = cast(copied(network), torch.float16)
    return half if _is_finite(half) else cast(copied(network), torch.bfloat16)


def copied(network: Any) -> Any:
    """Without what listens to it, which would keep what thousands of texts are."""
    found = deepcopy(network)
    for module in found.modules():
        module._forward_hooks.clear()
        module._forward_pre_hooks.clear()
    take_grouped(found)
    return found


def cast(network: Any, kind: Any) -> Any:
    """Weights, and no tables, which stay as exact as they are."""
    for parameter in network.parameters():
        parameter.data = parameter.data.to(kind)
    return network


def _is_finite(network: Any) -> bool:
    """Tried by two texts of different lengths."""
    try:
        Drawing(network, ()).continued([Wanted(range(1), 2), Wanted(range(CHECKED_ROWS), 2)], seed=0)
    except EngineError:
        return False
    return True


def _first_logits(network: Any) -> Any:
    """Of a text of the first tokens [CHECKED_ROWS, vocab]."""
    import torch

    ids = torch.arange(CHECKED_ROWS, device=network.device)[None] % network.get_input_embeddings().weight.shape[0]
    return network(input_ids=ids, use_cache=False, logits_to_keep=CHECKED_ROWS).logits[0]


def _check_readout(network: Any, taps: Taps, tables: Tables) -> None:
    import torch

    with torch.inference_mode():
        logits = _first_logits(network)
        final = taps.read(CHECKED_ROWS)[0, :, -1]
    check_output(tables, logits.float().cpu().numpy(), final.float().cpu().numpy())
