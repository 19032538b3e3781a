"""What every rule asks of a proposal before it believes it, and the shapes that some rules are limited to."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import later
from truedraw.errors import BadInput, BadProposal
from truedraw.protocol import NOTHING, ROOT, DraftLaw, Floats, Proposal, Rows, SparseLaw
from truedraw.sampling.transform import fits
from truedraw.verify.proposal_parts import OPINION, check_kinds, kind_of

IS_LAWFUL = later("truedraw.sampling.kernels.lawful", "is_lawful")
NUMBERS = ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")
"""What laws may be arrays of: what compiled rules read, in the machine's own order of bytes."""
SUM_TOLERANCE = 1e-6  # of a law's sum: float32 softmax over 1e5 entries stays inside, a forgotten mask does not


def check(proposal: Proposal, rows: Rows) -> None:
    """Raises BadProposal unless the tree is in topological order and every law is a law over the target's vocabulary.

    Two passes over what is stored of each law: its sum and its least entry, either of which a NaN spoils.
    """
    check_for(proposal, vocabulary(rows) if len(proposal) else 0)


def vocabulary(rows: Rows) -> int:
    """Its size, without asking for a p where the rows know."""
    return getattr(rows, "vocab_size", None) or len(rows[0])


def check_for(proposal: Proposal, vocab: int) -> None:
    """The same for a target of `vocab` tokens, whose rows are not known yet; what is marked as checked stays unread."""
    if proposal is NOTHING or proposal.checked == vocab > 0:
        return
    check_tree(proposal)
    check_confidence(proposal)
    for node, (token, law) in enumerate(zip(proposal.tokens.tolist(), proposal.laws, strict=True)):
        check_node(token, law, vocab, node)


def check_node(token: int, law: DraftLaw | None, vocab: int, node: int) -> None:
    """Raises BadProposal unless it is one of `vocab` tokens, and `law` None or one under which it can be drawn."""
    if not 0 <= token < vocab:
        raise BadProposal(f"draft node {node} is token {token}; the target's tokens are 0 to {vocab - 1}")
    if law is not None:
        check_law(law, vocab, token, node)


def mark_checked(proposal: Proposal, vocab: int) -> None:
    """No rule needs to read it again: it was checked, and nobody else holds its arrays."""
    object.__setattr__(proposal, "checked", vocab)


def check_confidence(proposal: Proposal) -> None:
    """Raises BadProposal unless there is one number from 0 to 1 a node, or none at all."""
    given = proposal.confidence
    if given is None:
        return
    right = isinstance(given, np.ndarray) and given.shape == (len(proposal),) and given.dtype.kind == "f"
    if not right or not all(0.0 <= each <= 1.0 for each in given.tolist()):
        raise BadProposal(f"confidence is {given!r:.80}; {OPINION}")


def check_tree(proposal: Proposal) -> None:
    """Raises BadProposal unless every node has a parent that stands before it, and a law or None."""
    if proposal is NOTHING:
        return
    check_kinds(proposal)
    n = len(proposal)
    if len(proposal.parents) != n or len(proposal.laws) != n:
        raise BadProposal(
            f"{n} draft tokens came with {len(proposal.parents)} parents and {len(proposal.laws)} laws; give one each"
        )
    for node, parent in enumerate(proposal.parents.tolist()):
        if not ROOT <= parent < node:
            raise BadProposal(f"draft node {node} has parent {parent}; a parent is -1 or an earlier node")


def check_law(law: DraftLaw, vocab: int, token: int, node: int) -> None:
    """Raises BadProposal unless `law` is one over `vocab` tokens, under which `token` can be drawn."""
    if isinstance(law, SparseLaw):
        if not is_sound(law, vocab):  # nearly always it is
            check_support(law, vocab, node)
            check_weights(law.weights, node)
    elif not isinstance(law, np.ndarray):
        raise BadProposal(f"the law of draft node {node} is {kind_of(law)}; give an array, a SparseLaw or None")
    elif law.shape != (vocab,):
        raise BadProposal(f"the law of draft node {node} has shape {law.shape}; the target's vocabulary is ({vocab},)")
    else:
        check_weights(law, node)
    if not law[token] > 0.0:
        raise BadProposal(
            f"the law of draft node {node} gives its own token {token} probability 0; "
            "report the very law that the token was drawn from, or None for a certain token"
        )


def is_sound(law: SparseLaw, vocab: int) -> bool:
    """Whether compiled code found nothing wrong with a law over `vocab` tokens; False where it has not looked."""
    tokens, weights = law.tokens, law.weights
    if not (isinstance(tokens, np.ndarray) and isinstance(weights, np.ndarray)):
        return False
    if law.vocab_size != vocab or tokens.ndim != 1 or tokens.shape != weights.shape or not len(tokens):
        return False
    if not (fits(tokens, np.int64) and fits(weights, np.float64)):
        return False
    return bool(IS_LAWFUL()(tokens, weights, vocab, SUM_TOLERANCE))


def check_support(law: SparseLaw, vocab: int, node: int) -> None:
    """Raises BadProposal unless the tokens [support] are some of `vocab`, in their order, with a weight each."""
    tokens, weights = law.tokens, law.weights
    if law.vocab_size != vocab:
        raise BadProposal(
            f"the law of draft node {node} is over {law.vocab_size} tokens; the target's vocabulary has {vocab}"
        )
    if not (isinstance(tokens, np.ndarray) and isinstance(weights, np.ndarray)):
        found = f"the tokens of the law of draft node {node} are {kind_of(tokens)} and its weights {kind_of(weights)}"
        raise BadProposal(f"{found}; give arrays")
    if tokens.ndim != 1 or tokens.shape != weights.shape or tokens.dtype != np.int64 or not len(tokens):
        raise BadProposal(
            f"the law of draft node {node} has tokens {tokens.shape} {tokens.dtype} and weights {weights.shape}; "
            "give int64 tokens and a weight for each, at least one"
        )
    if not (tokens[0] >= 0 and tokens[-1] < vocab and bool((tokens[1:] > tokens[:-1]).all())):
        raise BadProposal(
            f"the law of draft node {node} has tokens from {tokens.min()} to {tokens.max()}; "
            f"give each once, in rising order, from 0 to {vocab - 1}"
        )


def check_weights(weights: Floats, node: int) -> None:
    """Raises BadProposal unless they are probabilities."""
    if weights.dtype.str[1:] not in NUMBERS or not weights.dtype.isnative:
        raise BadProposal(f"the law of draft node {node} is {weights.dtype}; give an array of float64, or float32")
    least = float(np.minimum.reduce(weights))
    total = float(np.add.reduce(weights, dtype=np.float64)) if least > -np.inf else np.nan  # infinities of both signs
    if not (least >= 0.0 and abs(total - 1.0) <= SUM_TOLERANCE):
        raise BadProposal(
            f"the law of draft node {node} sums to {total} and its least entry is {least}; "
            f"give probabilities, not below 0 and with a sum of 1 to within {SUM_TOLERANCE}"
        )


def children(proposal: Proposal) -> dict[int, list[int]]:
    """Node (ROOT included) -> its children in their order."""
    below: dict[int, list[int]] = {node: [] for node in range(ROOT, len(proposal))}
    for child, parent in enumerate(proposal.parents.tolist()):
        below[parent].append(child)
    return below


def check_chain(proposal: Proposal) -> None:
    """Raises BadInput unless every draft token follows the one before."""
    if not np.array_equal(proposal.parents, np.arange(-1, len(proposal) - 1)):
        raise BadInput(
            f"this rule verifies chains; the proposal's parents are {np.asarray(proposal.parents).tolist()}. "
            'Draft a chain, or verify with "traversal", which takes every tree'
        )


def written_out(law: DraftLaw | None) -> Floats | None:
    """The law as a vector [vocab]; None stays None."""
    return law.dense() if isinstance(law, SparseLaw) else law


def dense(law: DraftLaw | None, vocab: int, token: int) -> Floats:
    """The law [vocab], or the point mass that None stands for."""
    whole = written_out(law)
    if whole is not None:
        return whole
    point = np.zeros(vocab)
    point[token] = 1.0
    return point
