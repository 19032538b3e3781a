"""What is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from truedraw.draft.head.card import BOUNDED, KINDS, MEDUSA, RECURRENT, called
from truedraw.errors import BadParameter

if TYPE_CHECKING:
    from truedraw.distill.before import Before

TEXTS, FEATURES, TRAINING = "texts", "features", "training"
SHARES = {TEXTS: 0.55, FEATURES: 0.05, TRAINING: 0.4}
WHOLE_SHARES = {TEXTS: 0.45, FEATURES: 0.15, TRAINING: 0.4}
"""Of the time; those of a kind that reads whole texts, all of whose features are computed in a pass of their own. What
a stage leaves over is the next one's."""
DEPTHS = (0.27, 0.5, 0.73, 0.87)
"""Where in the target the streams that a head reads are taken, unless told otherwise; the last one stands behind."""
HEAD_ENDING, PAGE, WORK = ".safetensors", ".html", ".work"
DEPTH = 2  # of a transformer: each further layer is a few more operations in a draft's pass, which is a short one
TRANSFORMER, EAGLE3 = "transformer", "eagle3"
FOLDERS = (TRANSFORMER, EAGLE3)
"""Kinds that are no head: a model of its own, in distill/independent, and an EAGLE draft, in distill/eagle."""
RATE, RATE_FURTHER = 2e-3, 1e-3
"""Of learning, at its highest; that of a head that is trained further."""
VOCABULARY = 8192
FEATURE_BYTES = 4 << 30
FIRST, LAST = 2, 3  # of the layers whose input an EAGLE draft reads: from the first, and from the end
HIDDEN, HEADS, MOST_HEADS = 1536, 4, 6
"""Inner width of a head, and how many positions one has that has a head a position, unless told otherwise; no more than
drafter.DEEPEST, which is how deep drafts go."""


class Tell(Protocol):
    """Called often: which stage, how much of it is done (0 to 1), and a few words."""

    def __call__(self, stage: str, done: float, words: str) -> None:
        """Returns at once."""
        ...


@dataclass(frozen=True, slots=True)
class TextPlan:
    """What is trained on."""

    seed: int = 0
    temperatures: tuple[float, ...] = (1.0, 0.7, 1.0)  # of the target's own texts, in turn
    answer_tokens: int = 300  # at most, of each
    tokens: int | None = None  # in all; None: what the time allows
    prompts: tuple[str, ...] | None = None  # of users; None: the target writes them
    openers: tuple[str, ...] | None = None  # of most prompts that it writes; None: the usual ones
    documents: tuple[Path, ...] = ()  # instead of what the target writes

    @property
    def are_given(self) -> bool:
        """Whether some of them may be there several times: prompts, or documents."""
        return self.prompts is not None or bool(self.documents)


@dataclass(frozen=True, slots=True)
class HeadPlan:
    """The head, and how it is trained. `hidden` is None for a kind without inner width, `heads` for one that has none a
    position; see shape_of. Raises BadFile where `init_from` is no head: it is read at once, into `before`."""

    hidden: int | None = HIDDEN  # inner width of its feed-forward block, or of all that stand at one place of a chain
    vocabulary: int = VOCABULARY  # tokens that it can draft, at most
    loss: str = "lk"
    seed: int = 0
    rate: float = RATE  # of learning, at its highest
    kind: str = RECURRENT
    heads: int | None = None  # positions that it can draft
    init_from: Path | None = None  # the head that is trained further, whose network this one has; None: it begins anew
    before: Before | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.before is not None and self.before.file.path == self.init_from:
            return
        from truedraw.distill.before import read_before

        object.__setattr__(self, "before", None if self.init_from is None else read_before(self.init_from))

    @property
    def further(self) -> bool:
        """Whether it begins with what another one learnt."""
        return self.init_from is not None

    def identity(self) -> dict[str, Any]:
        """What must be the same when its training goes on, in JSON's own types."""
        found = asdict(replace(self, init_from=None))
        del found["init_from"], found["before"]
        return found if self.before is None else {**found, "init_from": self.before.fingerprint}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of a transformer of its own. None: what fits the target."""

    width: int | None = None
    depth: int = DEPTH  # layers
    heads: int | None = None  # of its attention


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take. It may be another one when a run goes on."""

    seconds: float | None = 3600.0  # in all, those of runs before included
    steps: int | None = None  # of training
    feature_bytes: int | None = None  # None: FEATURE_BYTES of the disk, or what is free of a card
    patience: int = 6  # looks at held-out text without progress before training ends
    threads: int | None = None  # None: all cores

    @property
    def disk_bytes(self) -> int:
        """For features, where they are kept on the disk."""
        return FEATURE_BYTES if self.feature_bytes is None else self.feature_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run. `identity` is what else must be the same when it goes on: the target, in JSON's own types."""

    output: Path
    work: Path
    texts: TextPlan = field(default_factory=TextPlan)
    head: HeadPlan = field(default_factory=HeadPlan)
    limits: Limits = field(default_factory=Limits)
    identity: Mapping[str, Any] = field(default_factory=dict)
    overwrite: bool = False  # begin --work anew
    sizes: Sizes = field(default_factory=Sizes)  # for the kind TRANSFORMER

    @property
    def page(self) -> Path:
        """The report."""
        return beside(self.output, PAGE)

    def check(self) -> None:
        """Raises BadParameter for what is wrong before a model is loaded; what is written at last: outputs.py."""
        from truedraw.distill.folders import check_work
        from truedraw.distill.losses import loss_of
        from truedraw.sampling.randomness import check_seed
        from truedraw.sampling.ranges import TEMPERATURE

        loss_of(self.head.loss)
        shape_of(self.head.kind, self.head.hidden, self.head.heads)
        for temperature in self.texts.temperatures:
            TEMPERATURE.check("--temperatures", temperature)
        check_seed(self.texts.seed, "--seed")
        if not self.texts.temperatures:
            raise BadParameter("--temperatures", "got none; give numbers with commas between them, as in 1,0.7")
        if self.texts.prompts is not None and self.texts.documents:
            raise BadParameter("--documents", "goes without --prompts: documents are trained on as they are; give one")
        if self.texts.openers and (self.texts.prompts is not None or self.texts.documents):
            raise BadParameter("--openers", "goes without --prompts and --documents: nothing is asked then; give one")
        check_work(self.work)


def beside(output: Path, ending: str, own: str = HEAD_ENDING) -> Path:
    """What stands beside it: the ending `own` gives way to another one, and any other is part of the name."""
    name = output.name.removesuffix(own) if output.suffix == own else output.name
    return output.with_name(name + ending)


def shape_of(kind: str, hidden: int | None, heads: int | None) -> tuple[int | None, int | None]:
    """`hidden` and `heads` of a HeadPlan, None standing for the usual; raises BadParameter for what has no meaning."""
    if kind not in (*KINDS, *FOLDERS):
        raise BadParameter("--kind", f"got {kind!r:.40}; choose one of: {', '.join((*KINDS, *FOLDERS))}")
    if kind == MEDUSA and hidden is not None:
        raise BadParameter("--hidden", f"the blocks of a {MEDUSA} head are as wide as the model; leave it out")
    if kind not in BOUNDED and heads is not None:
        what = f"an {kind} draft" if kind == EAGLE3 else called(kind)
        raise BadParameter("--heads", f"{what} drafts any number of tokens; leave it out")
    if heads is not None and not 1 <= heads <= MOST_HEADS:
        raise BadParameter("--heads", f"got {heads}; give 1 to {MOST_HEADS}: drafts go no deeper")
    usual = None if kind in (MEDUSA, TRANSFORMER) else HIDDEN
    return hidden or usual, ((heads or HEADS) if kind in BOUNDED else None)


def default_layers(num_layers: int, kind: str) -> tuple[int, ...]:
    """After which layers the streams are that a draft reads where nobody says.

    For an EAGLE draft those that enter the layers 2, n / 2 and n - 3 (2503.01840), as far as there are such.
    """
    if kind == EAGLE3:
        entered = (FIRST, num_layers // 2, num_layers - LAST)
        return tuple(sorted({min(max(each - 1, 0), num_layers - 1) for each in entered}))
    return tuple(sorted({min(round(num_layers * depth), num_layers - 1) for depth in DEPTHS}))


def checked_layers(layers: Sequence[int], num_layers: int) -> tuple[int, ...]:
    """Rising; raises BadParameter."""
    found = tuple(sorted(set(layers)))
    if not found or any(not 0 <= layer < num_layers for layer in found):
        raise BadParameter("--layers", f"got {list(layers)}; give layers of the model, 0 to {num_layers - 1}")
    return found
