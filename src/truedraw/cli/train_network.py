"""From the flags of `truedraw train` to the network that is to be trained: a new one, or a head that goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from truedraw.cli.train_flags import HeadFlags
from truedraw.errors import BadParameter
from truedraw.home_folder import expanded

if TYPE_CHECKING:
    from truedraw.distill.plan import HeadPlan

SHIPPED = "shipped"


class Chosen(NamedTuple):
    """head: the network, and how it is trained. layers: what it reads; None: those that the model's depth suggests."""

    head: HeadPlan
    layers: tuple[int, ...] | None


def chosen(flags: HeadFlags, seed: int) -> Chosen:
    """Raises BadParameter, BadFile."""
    return _new(flags, seed) if flags.init_from is None else _further(flags, flags.init_from, seed)


def _new(flags: HeadFlags, seed: int) -> Chosen:
    from truedraw.distill.plan import RATE, VOCABULARY, HeadPlan, shape_of
    from truedraw.draft.head.card import RECURRENT

    kind = flags.kind or RECURRENT
    hidden, heads = shape_of(kind, flags.hidden, flags.heads)
    rate = flags.learning_rate or RATE
    head = HeadPlan(hidden, flags.vocabulary or VOCABULARY, flags.loss, seed, rate, kind, heads)
    return Chosen(head, _layers(kind, flags.layers))


def _further(flags: HeadFlags, name: str, seed: int) -> Chosen:
    from truedraw.cli.train_show import shipped_head
    from truedraw.distill.plan import RATE_FURTHER, HeadPlan
    from truedraw.draft.head.card import GROWS_FROM
    from truedraw.draft.head.file import read_card
    from truedraw.draft.head.opening import ANY_LAYER

    path = shipped_head() if name == SHIPPED else expanded(name)
    card = read_card(path)
    kind = flags.kind if flags.kind and GROWS_FROM.get(flags.kind) == card.kind else card.kind
    _check_as_it_is(flags, name, grows=kind != card.kind)
    rate = flags.learning_rate or RATE_FURTHER
    hidden = card.training.get("hidden")
    inner = hidden if type(hidden) is int else None  # for people: the network itself is the file's
    head = HeadPlan(inner, card.tokens, flags.loss, seed, rate, kind, card.heads, path)
    return Chosen(head, card.layers or ANY_LAYER)


def _check_as_it_is(flags: HeadFlags, name: str, grows: bool) -> None:
    """Raises BadParameter for what the head decides; `grows`: but for its kind."""
    given = {"--kind": None if grows else flags.kind, "--heads": flags.heads, "--layers": flags.layers,
             "--hidden": flags.hidden, "--vocabulary": flags.vocabulary}  # fmt: skip
    for flag, value in given.items():
        if value is not None:
            raise BadParameter(flag, f"got {value} with --init-from {name}, whose network stays as it is; leave it out")


def _layers(kind: str, given: str | None) -> tuple[int, ...] | None:
    from truedraw.cli.sizes import values_of
    from truedraw.distill.plan import TRANSFORMER
    from truedraw.draft.head.card import MEDUSA
    from truedraw.draft.head.opening import ANY_LAYER

    if given is None:
        return ANY_LAYER if kind in (MEDUSA, TRANSFORMER) else None
    return tuple(int(value) for value in values_of("--layers", given, whole=True))
