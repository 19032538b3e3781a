"""P, what is left for the drafts at the places of a path: p itself, and less of it behind each draft that failed."""

from __future__ import annotations

import numpy as np

from truedraw.compiled import inner
from truedraw.sampling.kernels.cutting import Scratch
from truedraw.sampling.kernels.edited import law_there
from truedraw.sampling.kernels.rowkinds import left_there
from truedraw.sampling.kernels.softmax import scale
from truedraw.verify.fused.path import WRITTEN, tokens_to, weight_at
from truedraw.verify.fused.remainder import LEAST, is_looked_at, remainder_of, weighed
from truedraw.verify.fused.rows import CUT, MASS, SHARP, chance_there, look, tempered_into
from truedraw.verify.fused.tree import less_q, q_of
from truedraw.verify.residual import SMALLEST_MASS


@inner(error_model="numpy")
def lays(given, path, depth, tree, room):  # type: ignore[no-untyped-def]
    """Know the row at a place, and write p down where the law cuts or edits; False where there is no law."""
    logits, kind, law, known, edited = given
    memory, weights, ids, board = room
    row = path.rows[depth]
    if not look(logits, kind, law, known, row, board):
        return False
    if kind != CUT or path.written[depth]:
        return True
    path.written[depth] = True
    text = tokens_to(path, depth, tree)
    return np.isfinite(law_there(logits[row], law, edited, text, Scratch(memory[depth], weights, ids, board)))


@inner(error_model="numpy")
def p_at(given, path, depth, token, tree, memory):  # type: ignore[no-untyped-def]
    """P(token), where `lays` was asked."""
    logits, kind, law, known, _ = given
    if path.left[depth]:
        slot, factor, node = memory[path.slots[depth]], path.factors[depth], path.taker[depth]
        if node == WRITTEN:
            return slot[token] * factor
        return left_there(remainder_of(given, path.rows[depth], path.shares[depth], tree, node, slot), token) * factor
    if kind != CUT:
        return chance_there(logits, kind, law, known, path.rows[depth], token)
    return memory[depth, token]


@inner(error_model="numpy")
def failed(given, path, depth, tree, memory):  # type: ignore[no-untyped-def]
    """What is left after the child below, as traversal.Traversal.failed."""
    weight, child = weight_at(path, depth), path.rows[depth + 1] - 1
    if given[1] == SHARP:
        likeliest = np.int64(given[3][MASS, path.rows[depth]])
        total = max(weight - q_of(tree, child, likeliest), 0.0)
    else:
        total = less(given, path, depth, weight, child, tree, memory)
    path.tops[depth], path.bottoms[depth] = total, total + 1.0 - weight
    if path.bottoms[depth] == 0.0:
        path.tops[depth] = path.bottoms[depth] = 1.0


@inner(error_model="numpy")
def less(given, path, depth, weight, child, tree, memory):  # type: ignore[no-untyped-def]
    """Have (w P - q)+ take the place of P unless it is only rounding; its sum."""
    slot, node, total = path.slots[-1], child, 0.0
    if not path.left[depth] and is_looked_at(given[1], tree, child):
        total = weighed(remainder_of(given, path.rows[depth], weight, tree, child, memory[slot]), tree, child)
    if total < LEAST * weight:
        node = WRITTEN
        write(given, path, depth, tree, memory)
        total = less_q(weight, tree, child, memory[slot])  # the very numbers that the coin was tossed with
    if total > SMALLEST_MASS:
        path.slots[-1], path.slots[depth] = path.slots[depth], slot
        path.factors[depth], path.left[depth] = 1.0 / total, True
        path.taker[depth], path.shares[depth] = node, weight
    return total


@inner(error_model="numpy")
def write(given, path, depth, tree, memory):  # type: ignore[no-untyped-def]
    """P into the slot that is nobody's."""
    logits, kind, law, known, _ = given
    out, node = memory[path.slots[-1]], path.taker[depth]
    if path.left[depth] and node == WRITTEN:
        copied(memory[path.slots[depth]], path.factors[depth], out)
    elif kind == CUT:
        copied(memory[depth], 1.0, out)
    else:
        tempered_into(logits, law, known, path.rows[depth], out)
        if path.left[depth]:
            less_q(path.shares[depth], tree, node, out)
            scale(out, path.factors[depth])


@inner(error_model="numpy")
def copied(values, factor, out):  # type: ignore[no-untyped-def]
    """values [n] times a number, into other memory."""
    for i in range(values.shape[0]):
        out[i] = values[i] * factor
