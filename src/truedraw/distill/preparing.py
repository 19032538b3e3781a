"""What comes before training: texts, and what the target knows and says at each of their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from truedraw.distill.clock import Clock
from truedraw.distill.computing import Computed, check_readout, compute
from truedraw.distill.plan import FEATURES, SHARES, TEXTS, TRAINING, Plan, Tell
from truedraw.distill.rows import Rows
from truedraw.distill.store import Shape, Store
from truedraw.distill.tables import Tables, tables_of
from truedraw.distill.texts import NAME, Gathered, gather, read_texts
from truedraw.distill.watching import Keeping
from truedraw.errors import BadFile

if TYPE_CHECKING:
    from truedraw.generate.model import Model

FEWEST_ROWS = 5  # of a text: a row to begin at, and a chain of four behind it
LEAST_TRAINING = 0.2  # of the budget: what is trained in any case, however long the stages before took


class Prepared(NamedTuple):
    """What is trained on, and what it took."""

    tables: Tables
    data: Rows
    texts: Gathered
    done: Computed


def prepared(model: Model, plan: Plan, tell: Tell) -> Prepared:
    """All that comes before training."""
    tables = tables_of(model.engine, model.name)
    plan.work.mkdir(parents=True, exist_ok=True)
    check_readout(model.engine, tables)
    texts, done = _written_and_seen(model, plan, tell)
    data = Rows(plan.work, _shape(model))
    data.check(FEWEST_ROWS)
    return Prepared(tables, data, texts, done)


def text_settings(model: Model, plan: Plan) -> dict[str, Any]:
    """What decides which texts come."""
    from truedraw.models.fingerprint import fingerprint

    texts = plan.texts
    for path in texts.documents:
        if not path.is_file():
            raise BadFile(f"{path} cannot be read: there is no such file; give files with text")
    return {
        "kind": "draft texts",
        **plan.identity,
        "tokenizer": model.tokenizer.fingerprint,
        "hidden_size": getattr(model.engine, "hidden_size", None),
        "seed": texts.seed,
        "temperatures": list(texts.temperatures),
        "answer_tokens": texts.answer_tokens,
        "prompts": None if texts.prompts is None else list(texts.prompts),
        "documents": [fingerprint([path], named=False) for path in texts.documents],
    }


def _written_and_seen(model: Model, plan: Plan, tell: Tell) -> tuple[Gathered, Computed]:
    """Texts, and features of them: those of texts that are written now are kept meanwhile, the others computed."""
    engine: Any = model.engine
    settings = text_settings(model, plan)
    of_features = {**settings, "kind": "draft features", "layers": list(engine.hidden_layers)}
    with Store(plan.work, _shape(model), of_features, plan.overwrite) as store:
        most = plan.limits.feature_bytes
        seconds = None if plan.limits.seconds is None else plan.limits.seconds * SHARES[TEXTS]
        if not plan.overwrite and (before := _there(plan)):
            limit = (most, Clock(store.seconds, _for_features(plan, None)), tell, before)
            compute(engine, read_texts(plan.work), store, limit)
        keeping = Keeping(store, most)
        texts = gather(model, plan.texts, plan.work, settings, (seconds, tell), plan.overwrite, keeping)
        limit = (most, Clock(store.seconds, _for_features(plan, texts)), tell, texts.tokens)
        return texts, compute(engine, read_texts(plan.work), store, limit)


def _there(plan: Plan) -> int:
    """Tokens of texts of an earlier run; a kill may have come before what was seen of the last ones was kept."""
    return sum(len(text.answer) for text in read_texts(plan.work)) if (plan.work / NAME).exists() else 0


def _for_features(plan: Plan, texts: Gathered | None) -> float | None:
    """Seconds for those that are not there yet, with what the texts left over; None: they are not written yet."""
    seconds = plan.limits.seconds
    if seconds is None:
        return None
    if texts is None:
        return seconds * (SHARES[FEATURES] + SHARES[TRAINING] / 2)
    return max(seconds * (SHARES[TEXTS] + SHARES[FEATURES]) - texts.seconds, seconds * SHARES[FEATURES])


def left(plan: Plan, texts: Gathered, done: Computed) -> float | None:
    """Seconds to train in."""
    seconds = plan.limits.seconds
    return None if seconds is None else max(seconds - texts.seconds - done.seconds, seconds * LEAST_TRAINING)


def _shape(model: Model) -> Shape:
    engine: Any = model.engine
    return Shape(len(engine.hidden_layers) + 1, engine.hidden_size)
