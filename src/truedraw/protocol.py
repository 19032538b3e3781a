"""READ FIRST. The records that travel between the stages, and the contracts of the stages. No logic.

Words: the *target* is the model whose samples are wanted; a *drafter* is anything that guesses; its guess is a
*proposal*, a tree of draft tokens (a chain is the usual tree); a *verifier* is the acceptance rule, never a model;
a *round* is one proposal, one pass of the target and one verdict; a round ends with a *residual* token (the
correction after a rejection) or a *bonus* token (everything was kept). p is the target's law and q the draft's, both
after every transform (penalties, mask, temperature, truncation). *Exact* means: keeps the law p.

    prompt -> tokens -> [ propose -> score -> transform -> verify -> commit ]* -> tokens -> text

Everything is batch first: one sequence is a batch of one. Three cases need no code of their own: a draft that is
*certain* of its token has the law None, *greedy* sampling is a one-hot law, and *plain* sampling is an empty proposal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, ClassVar, Literal, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Logits = NDArray[np.float32]
Ints = NDArray[np.int64]

ROOT = -1
"""The parent of a draft token that follows the committed text directly."""

Origin = Literal["draft", "residual", "bonus", "plain", "forced"]
"""Where a token came from: an accepted draft, the end of a round after or without a rejection, plain sampling, or the
law itself, which allowed no other token there (a grammar)."""


# ---------------------------------------------------------------------------------------------------- randomness


class Purpose(IntEnum):
    """What a number is drawn for. Draws of different purpose are independent, whatever else they share."""

    TARGET = 0  # coupled verification: the noise of a position, shared by everyone who draws that position
    DRAFT = 1
    ACCEPT = 2
    RESIDUAL = 3
    XTC = 4  # part of the law: one coin a position, looked at as often as the law is, always the same
    AUDIT = 5  # whether a draft that need not be verified is verified after all


class Randomness(Protocol):
    """All chance of one sample, injected, so that a test can walk every branch of the code that uses it.

    A draw is named, not ordered: (purpose, position, node) and the sample's own (seed, index) determine its outcome.
    `position` is an absolute position in the text (prompt included). Under coupled verification it is the position
    the token takes. Under the p/q rules it is the length of the committed text at the start of the round, which
    no two rounds share, and `node` counts inside the round.
    """

    def choose(self, weights: Floats, purpose: Purpose, position: int, node: int = 0) -> int:
        """An index drawn with probability weights / sum(weights); weights [vocab] >= 0, sum > 0."""
        ...

    def accept(self, p: float, q: float, purpose: Purpose, position: int, node: int = 0) -> bool:
        """True with probability min(1, p / q); never where p is 0; q > 0."""
        ...


# --------------------------------------------------------------------------------------------------------- drafts


@final
@dataclass(frozen=True, slots=True, eq=False)
class SparseLaw:
    """A law under which few of `vocab_size` tokens can come, not written out over all of them."""

    tokens: Ints  # [support], rising
    weights: Floats  # [support], at least 0, sum 1
    vocab_size: int

    def __getitem__(self, token: int) -> float:
        """Its probability; raises IndexError outside the vocabulary."""
        if not 0 <= token < self.vocab_size:
            raise IndexError(f"got token {token}; the law is over tokens 0 to {self.vocab_size - 1}")
        place = self.tokens.searchsorted(token)
        return float(self.weights[place]) if place < len(self.tokens) and self.tokens[place] == token else 0.0

    def dense(self) -> Floats:
        """[vocab]."""
        law = np.zeros(self.vocab_size)
        law[self.tokens] = self.weights
        return law


DraftLaw = Floats | SparseLaw
"""q, as a vector [vocab] or as what is not 0 of it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A tree of draft tokens in topological order: a parent stands before its children, siblings in their order.

    `confidence[i]` is the drafter's own opinion of how likely node i is kept once its parent was. It need not be right,
    a controller learns what it is worth, but for a token with a law it must be known before that token is drawn.
    """

    tokens: Ints  # [n]
    parents: Ints  # [n]; ROOT (-1) = follows the committed text, else the index of an earlier node
    laws: tuple[DraftLaw | None, ...]  # n times: q of node i given its parent and its earlier siblings; None = certain
    confidence: Floats | None = None  # [n] in (0, 1), see below; None = the drafter has no opinion
    checked: int = field(default=0, init=False, repr=False, compare=False)
    """For a target of how many tokens it was found sound by the guard of a built-in drafter; 0 = look at it."""

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def chain(
        cls, tokens: Iterable[int], laws: Seq[DraftLaw | None] | None = None, confidence: Floats | None = None
    ) -> Proposal:
        """Each token follows the one before; without laws every token is certain (a point mass)."""
        ids = np.asarray(list(tokens), dtype=np.int64)
        given = (None,) * len(ids) if laws is None else tuple(laws)
        return cls(ids, np.arange(-1, len(ids) - 1, dtype=np.int64), given, confidence)

    def only(self, nodes: Ints) -> Proposal:
        """Without the other nodes; `nodes` rise and hold the parent of each of them."""
        if len(nodes) == len(self):
            return self
        place = np.full(len(self) + 1, ROOT, dtype=np.int64)  # its last entry is that of ROOT
        place[nodes] = np.arange(len(nodes))
        confidence = None if self.confidence is None else self.confidence[nodes]
        laws = tuple(self.laws[node] for node in nodes.tolist())
        return Proposal(self.tokens[nodes], place[self.parents[nodes]], laws, confidence)


NOTHING = Proposal.chain(())
"""The empty proposal: its round is one step of plain sampling."""


@runtime_checkable
class DraftState(Protocol):
    """A drafter's memory of one text."""

    def commit(self, tokens: Seq[int], scores: Scores) -> None:
        """Append `tokens`, the end of a round, to the text.

        `scores` is what the target said in that round: its rows are those of `scores.proposal`, which may be another
        drafter's, may lack some of the nodes that this one proposed, and may begin with tokens that had to come.
        """
        ...


@runtime_checkable
class LooksAhead(Protocol):
    """A draft state that can also guess behind tokens which are certain to come but not yet scored. Optional."""

    def ahead(self, tokens: Seq[int]) -> DraftState:
        """The state of the text with `tokens` behind it, for one proposal; this state stays as it is."""
        ...


@runtime_checkable
class Drafter(Protocol):
    """Guesses. May look at anything except the value of a token it is about to drop (algorithm L2)."""

    def open(self, tokens: Seq[int], law: Law) -> DraftState:
        """Start on a text; `law` is the target's after it, for drafters that apply it to their own logits."""
        ...

    def propose(self, states: Seq[DraftState], budgets: Seq[int], randomness: Seq[Randomness]) -> list[Proposal]:
        """One proposal a state, of at most `budget` draft tokens; the empty one is always allowed."""
        ...


@runtime_checkable
class Shapes(Protocol):
    """A drafter that knows what its next proposal is worth before it draws it. Optional."""

    def worths(self, nodes: int) -> Seq[tuple[float, int]] | None:
        """Tokens that each further node of a proposal brings, falling, and its level, from 1; None: it cannot tell."""
        ...


# --------------------------------------------------------------------------------------------------------- engine


@runtime_checkable
class Sequence(Protocol):
    """One text and its pages in an engine's cache."""

    @property
    def tokens(self) -> Seq[int]:
        """The committed text, prompt included."""
        ...

    @property
    def num_uncached(self) -> int:
        """Rows of text that the next pass must compute: at least 1, the last token, whose logits are wanted."""
        ...

    def commit(self, tokens: Seq[int]) -> None:
        """Append. The cache keeps its longest agreeing prefix; the rest is recomputed with the next pass."""
        ...

    def evict(self) -> None:
        """Give the pages back and keep the text, which is recomputed when it is run again. Changes no logits."""
        ...

    def close(self) -> None:
        """Give the pages back. Closing twice is harmless."""
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """One sequence's part in a pass."""

    sequence: Sequence
    proposal: Proposal = NOTHING


@dataclass(frozen=True, slots=True)
class Fill:
    """Text to compute beside a pass, so that a long prompt need not hold up the texts that are being written."""

    sequence: Sequence
    count: int  # of its next uncached tokens, fewer than num_uncached: the last token's logits are a Work's


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class TextRows:
    """Hidden states of tokens that stand side by side in a text, and whose logits nobody wanted.

    Texts that were forked share one object.
    """

    first: int  # place of the first of these tokens in the text
    hidden: NDArray[np.float32]  # [rows, layers, width]


@dataclass(frozen=True, slots=True)
class Scores:
    """What the target says of one work: row 0 follows the committed text, row 1 + i follows draft node i."""

    logits: Logits  # [1 + nodes, vocab]
    hidden: NDArray[np.float32] | None = None  # [1 + nodes, layers, width], where the engine was asked for it
    proposal: Proposal | None = None  # what was scored, for those who did not see it: the loop tells the drafters
    text: tuple[TextRows, ...] = ()  # with a text's first scores, from an engine asked for it; see hidden_text there


@runtime_checkable
class Engine(Protocol):
    """Runs a model over many texts at once."""

    vocab_size: int
    context_length: int  # tokens a text can have at most

    def open(self, tokens: Seq[int]) -> Sequence:
        """Start a text of at least one token; nothing is computed yet."""
        ...

    def fork(self, sequence: Sequence, n: int) -> list[Sequence]:
        """n further texts equal to `sequence`, which is computed first; pages are shared, and copied when written."""
        ...

    def fits(self, works: Seq[Work], fills: Seq[Fill] = ()) -> bool:
        """Whether the cache has room for such a pass, with what nobody uses any more given up for it."""
        ...

    def forward(self, works: Seq[Work], fills: Seq[Fill] = ()) -> list[Scores]:
        """ONE pass for all works and fills (a work's long uncached text is computed in chunks before it).

        Raises OutOfPages, and changes nothing, where the cache has no room for it.
        """
        ...

    def close(self) -> None:
        """Free everything."""
        ...


@dataclass(frozen=True, slots=True)
class PassTable:
    """Seconds of a pass on this machine, with short texts that are in the cache."""

    rows: Mapping[int, float]  # by rows, all of one text; at least two counts
    texts: Mapping[int, float]  # by texts, with one row each; fewer counts or none


@runtime_checkable
class KnowsCosts(Protocol):
    """An engine that can tell what its passes take. Optional."""

    def pass_costs(self) -> PassTable | None:
        """As measured once on this machine, which is done now where it has not been yet; None: it cannot be."""
        ...

    def doubt_costs(self) -> None:
        """What passes took did not fit `pass_costs`: measure again when the model is loaded next."""
        ...


# ---------------------------------------------------------------------------------------------------------- law


class Law(Protocol):
    """The target's sampling law at one place of a text. It never changes: the law one token later is another object."""

    def __call__(self, logits: Logits) -> Floats:
        """p [vocab], sums to 1, from the logits [vocab] at this place."""
        ...

    def after(self, token: int, p: Floats | None = None) -> Law:
        """The law once `token` stands here; drafts that may be rejected are tried out in this way.

        `p` [vocab] is what this law said here, for a law that carries it on (mirostat). A drafter that cannot know it
        may leave it out: its own law is then a guess, as all of it is.
        """
        ...

    def forced(self, limit: int) -> Seq[int]:
        """At most `limit` tokens that must come here whatever the logits are, as far as that is known; mostly none."""
        ...


class Rows(Protocol):
    """The target's p at every node of a proposal, transformed when first looked at."""

    def __getitem__(self, row: int) -> Floats:
        """p [vocab] after the committed text (row 0) or after draft node i (row 1 + i)."""
        ...


class DrawingRows(Rows, Protocol):
    """Rows that can draw without writing p down. Optional; verify/draws.py and verify/proposals.py ask for it."""

    vocab_size: int

    def draw(self, row: int, randomness: Randomness, purpose: Purpose, position: int, node: int = 0) -> int:
        """randomness.choose(self[row], purpose, position, node): the same token, perhaps sooner."""
        ...


# ----------------------------------------------------------------------------------------------------- verdict


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verifier decided: the accepted drafts, then one token drawn from the target (or its residual)."""

    tokens: tuple[int, ...]  # num_accepted + 1
    num_accepted: int
    rejected: bool  # True: the last token is a residual token; False: a bonus token, or plain


@runtime_checkable
class Verifier(Protocol):
    """An acceptance rule: numbers in, verdict out; no model, no state."""

    exact: ClassVar[bool]
    """Whether the emitted text has exactly the target's law."""
    coupled: ClassVar[bool]
    """Whether every token is a function of its own law and the noise of its own position alone."""

    def __call__(self, proposal: Proposal, rows: Rows, randomness: Randomness, position: int) -> Verdict:
        """`position` is the length of the committed text: the absolute position of the first token decided here."""
        ...


@dataclass(frozen=True, slots=True)
class Loss:
    """How far from the target's law a lossy rule may have taken the tokens of a run."""

    rule: str
    settings: dict[str, float]
    tokens: int  # decided by the rule; the stop rules have not been applied
    tv_per_token: float | None  # upper bound of the mean total variation a token; None: no useful bound exists
    meaning: str  # what the bound says, in words
    details: dict[str, float] = field(default_factory=dict)


@runtime_checkable
class LossyVerifier(Verifier, Protocol):
    """A rule whose `exact` is False. It tells what it did; what it tells never changes what it does."""

    def loss(self) -> Loss:
        """Of all verdicts of this object so far."""
        ...


class Observer(Protocol):
    """Watches verdicts while they are made, for statistics that need the laws; it changes nothing."""

    def __call__(self, sample: int, proposal: Proposal, rows: Rows, verdict: Verdict) -> None:
        """One round of sample number `sample`; the stop rules have not been applied to the verdict."""
        ...


# ------------------------------------------------------------------------------------------------------ control


@dataclass(frozen=True, slots=True)
class Round:
    """What a reader may want to know of one round of one sample; every statistic is computed from these."""

    sample: int  # its number, which no two running samples share
    tokens: tuple[int, ...]  # what was committed, after the stop rules
    origins: tuple[Origin, ...]
    logprobs: tuple[float, ...]  # natural log of the model's probability, before the transforms
    sampling_logprobs: tuple[float, ...]  # natural log of p, after them
    drafted: int
    accepted: int  # as the verifier counted, the stop rules not applied
    forced: int = 0  # tokens among `tokens` that had to come; neither drafted nor accepted counts them
    draft_seconds: float = 0.0  # the round's share of its batch
    engine_seconds: float = 0.0
    seconds: float = 0.0
    pass_rows: int = 0  # rows of the pass that scored it, those of all texts: what its seconds were spent on
    source: str = ""  # which of its drafters drafted, "" = none
    finish_reason: str | None = None  # "stop", "length" or "interrupted" in the sample's last round


@dataclass(frozen=True, slots=True)
class Asker:
    """One running sample before its drafts are drawn."""

    sample: int  # its number, as Round.sample will have it
    room: int  # draft tokens at most
    sources: tuple[str, ...]  # the drafters it can have them from, by name
    worths: Mapping[str, Seq[tuple[float, int]]] = field(default_factory=dict)  # of sources that tell it, see Shapes
    coupled: bool = False  # whether the rule is: a drafter may draw from a law under one kind, and not under the other


@dataclass(frozen=True, slots=True)
class Choice:
    """What a sample gets: nodes of a proposal that its asker was offered, or tokens still to be drafted by a source."""

    source: str = ""  # "" = nothing, which is plain sampling
    nodes: Ints | None = None  # [kept] of the proposal that `source` offered, in its order
    tokens: int = 0  # to be drafted by `source`, which was not asked before


class Controller(Protocol):
    """How much to draft, and by whom. It decides in two steps, so that drafts that cost nothing can be weighed.

    Nothing that was sampled is ever weighed (algorithm L2), neither its values nor how much of it there is: a proposal
    that has laws is taken whole or not at all, and which of the two is settled before it is drawn.
    """

    def budget(self, askers: Seq[Asker]) -> list[dict[str, int]]:
        """For each running sample the draft tokens that some of its sources shall offer; {} = none."""
        ...

    def choose(
        self, askers: Seq[Asker], offers: Seq[Mapping[str, Proposal]], seconds: Mapping[str, float]
    ) -> list[Choice]:
        """What each takes of the offers, by source, that `budget` asked for, or what is to be drafted instead.

        `seconds` are what each source took for all its offers.
        """
        ...

    def observe(self, rounds: Seq[Round]) -> None:
        """Learn from what happened."""
        ...


# ------------------------------------------------------------------------------------------------- model on disk


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What an engine must know to build the graph of a decoder-only transformer."""

    architecture: str  # "llama", "qwen2" or "qwen3"
    vocab_size: int
    context_length: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    rope_scaling: dict[str, Any] | None  # as in config.json, None = plain RoPE
    tie_embeddings: bool
    qkv_bias: bool  # qwen2
    qk_norm: bool  # qwen3
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Packed:
    """A weight matrix as its file stores it, where integer kernels can hold it exactly: scale * (codes - zero)."""

    codes: NDArray[Any]  # [out, in], int8 or uint8 values
    scales: NDArray[np.float32]  # [out, groups]
    zero: int  # 0 or 8
    bits: int  # 4 or 8


class Weights(Protocol):
    """The tensors of a model by their Hugging Face names, rows = output features, rotary layout as in Hugging Face."""

    def names(self) -> list[str]:
        """For instance "model.layers.0.self_attn.q_proj.weight", "model.embed_tokens.weight"."""
        ...

    def dense(self, name: str) -> NDArray[np.float32]:
        """The tensor dequantised to float32; raises BadModelFile where the file lacks it."""
        ...

    def packed(self, name: str) -> Packed | None:
        """The tensor as stored, or None where it is stored in another form."""
        ...

    def stored_as(self, name: str) -> str:
        """ "F32", "F16", "BF16", "Q4_1", ..."""
        ...
