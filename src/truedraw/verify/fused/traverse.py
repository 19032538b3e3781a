"""Traversal verification (verify/traversal.py) of a whole round in compiled code."""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.protocol import Purpose
from truedraw.protocol.slate import ACCEPTED, COUNT, POSITION, REJECTED
from truedraw.sampling.kernels.cutting import Scratch
from truedraw.sampling.kernels.draw import draw_row
from truedraw.sampling.kernels.law import law_row
from truedraw.sampling.kernels.racing import race_all, race_remainder
from truedraw.sampling.kernels.rowkinds import left_there
from truedraw.sampling.kernels.softmax import scale
from truedraw.sampling.names import named, tossed
from truedraw.sampling.transform import Transform
from truedraw.threads.board import share
from truedraw.threads.borrowing import borrowed
from truedraw.threads.jobs import this_call
from truedraw.verify.fused.path import WRITTEN, path_of, weight_at
from truedraw.verify.fused.remainder import LEAST, is_looked_at, remainder_of, weighed
from truedraw.verify.fused.rows import CUT, MASS, SHARP, chance_there, kind_of, logs_there, look, tempered_into, unknown
from truedraw.verify.fused.tree import less_q, next_child, q_of, spell, spelled_nowhere, tried_nodes
from truedraw.verify.residual import SMALLEST_MASS

ACCEPT, RESIDUAL = int(Purpose.ACCEPT), int(Purpose.RESIDUAL)


@compiled(nogil=True, error_model="numpy")
def traverse(board, given, takes_part):  # type: ignore[no-untyped-def]
    """walk.walk, by the p/q rule; scratch: a Path's memory, then as of a plain Scratch."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    logits, how, tree, names, scratch, told, slate = borrowed(given)
    name = slate[POSITION], *names[0]
    count, accepted, rejected = traversed(logits, how, tree, (name, names[1]), scratch, told)
    slate[COUNT], slate[ACCEPTED], slate[REJECTED] = count, accepted, rejected


@inner(error_model="numpy")
def traversed(logits, how, tree, names, scratch, told):  # type: ignore[no-untyped-def]
    """(tokens, accepted, rejected), as walk.walked."""
    law, n = Transform(*how), len(tree[0])
    kind, known, path = kind_of(law, logits.shape[1]), unknown(n + 1), path_of(n)
    given, tried, depth = (logits, kind, law, known), tried_nodes(tree), path.rows[0]  # a constant is compiled apart
    while True:
        child, path.seen[depth] = next_child(tree, tried, path.rows[depth], path.seen[depth])
        if child >= 0 and path.tops[depth] > 0.0:
            if not look(logits, kind, law, known, path.rows[depth], scratch[-1]):
                return 0, 0, False
            down(given, path, depth, child, tree, scratch)
            depth += 1
        elif depth == 0 or keeps(path, depth, names[0]):
            return ending(given, path, depth, (tree, *names), scratch, told)
        else:
            depth -= 1
            failed(given, path, depth, tree, scratch)


@inner(error_model="numpy")
def keeps(path, depth, name):  # type: ignore[no-untyped-def]
    """The coin of the end of the path."""
    return tossed(path.tops[depth], path.bottoms[depth], named(name, ACCEPT, 0, path.rows[depth] - 1))


@inner(error_model="numpy")
def down(given, path, depth, child, tree, room):  # type: ignore[no-untyped-def]
    """One place further, with its weight."""
    token, below = tree[0][child], depth + 1
    path.tops[below] = weight_at(path, depth) * p_at(given, path, depth, token, tree, room)
    path.bottoms[below] = q_of(tree, child, token)
    path.rows[below], path.seen[below], path.written[below], path.left[below] = 1 + child, 0, False, False


@inner(error_model="numpy")
def p_at(given, path, depth, token, tree, room):  # type: ignore[no-untyped-def]
    """P(token)."""
    logits, kind, law, known = given
    memory, weights, ids, board = room
    if path.left[depth]:
        slot, factor, node = memory[path.slots[depth]], path.factors[depth], path.taker[depth]
        if node == WRITTEN:
            return slot[token] * factor
        return left_there(remainder_of(given, path.rows[depth], path.shares[depth], tree, node, slot), token) * factor
    if kind != CUT:
        return chance_there(logits, kind, law, known, path.rows[depth], token)
    if not path.written[depth]:
        law_row(logits[path.rows[depth]], law, Scratch(memory[depth], weights, ids, board), memory[depth])
        path.written[depth] = True
    return memory[depth, token]


@inner(error_model="numpy")
def failed(given, path, depth, tree, room):  # type: ignore[no-untyped-def]
    """What is left after the child below, as traversal.Traversal.failed."""
    weight, child = weight_at(path, depth), path.rows[depth + 1] - 1
    if given[1] == SHARP:
        likeliest = np.int64(given[3][MASS, path.rows[depth]])
        total = max(weight - q_of(tree, child, likeliest), 0.0)
    else:
        total = less(given, path, depth, weight, child, tree, room[0])
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
    logits, kind, law, known = given
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


@inner(error_model="numpy")
def ending(given, path, depth, names, room, told):  # type: ignore[no-untyped-def]
    """(tokens, accepted, rejected): the accepted text, one token, and on through whatever nodes spell it."""
    tree, name, asked = names
    memory, weights, ids, board = room
    spelled, row = spelled_nowhere(len(tree[0])), path.rows[0]
    spare = Scratch(memory[path.slots[-1]], weights, ids, board)
    for count in range(depth):
        token = tree[0][path.rows[count + 1] - 1]
        if not tell(given, row, token, memory[count], told[:, count], board):
            return 0, 0, False
        row, _ = spell(tree, spelled, count, token)
    count, here, is_left = depth, path.rows[depth], path.left[depth]
    while True:
        chance = named(name, RESIDUAL, 0, here)
        if is_left:
            token = race_left(given, path, depth, tree, memory, chance)
            is_told = tell(given, row, token, memory[depth], told[:, count], board)
        else:
            is_told = draw(given, (here, row), (chance, *asked), spare, told[:, count])
        if not is_told:
            return 0, 0, False
        row, below = spell(tree, spelled, count, np.int64(told[0, count]))
        count += 1
        if row < 0:
            return count, count - 1, below
        here, is_left = row, False


@inner(error_model="numpy")
def race_left(given, path, depth, tree, memory, chance):  # type: ignore[no-untyped-def]
    """A token from P, which is another one than p; -1 where there is nothing of it."""
    slot, node = memory[path.slots[depth]], path.taker[depth]
    if node == WRITTEN:
        return race_all(slot, given[0].shape[1], chance)
    return race_remainder(remainder_of(given, path.rows[depth], path.shares[depth], tree, node, slot), chance)


@inner(error_model="numpy")
def draw(given, rows, asked, spare, told):  # type: ignore[no-untyped-def]
    """A token from the p of the first of two equal rows, told as one of the second; False where there is no law."""
    logits, _, law, _ = given
    token, after, before = draw_row(logits[rows[0]], law, asked, spare)
    told[0], told[1], told[2], told[3] = token, rows[1], after, before
    return token >= 0


@inner(error_model="numpy")
def tell(given, row, token, p, told, board):  # type: ignore[no-untyped-def]
    """A token that was chosen otherwise, with its logarithms, from p [vocab] where the law cuts; False where there is
    none, or its row has no law."""
    logits, kind, law, known = given
    if token < 0 or not look(logits, kind, law, known, row, board):
        return False
    after, before = logs_there(logits, kind, law, known, row, token)
    if kind == CUT:
        after = math.log(p[token]) if p[token] > 0.0 else -np.inf
    told[0], told[1], told[2], told[3] = token, row, after, before
    return True
