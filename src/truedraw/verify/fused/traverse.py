"""Traversal verification (verify/traversal.py) of a whole round in compiled code."""

from __future__ import annotations

import math

import numpy as np

from truedraw.compiled import compiled, inner
from truedraw.protocol import Purpose
from truedraw.protocol.slate import ACCEPTED, COUNT, POSITION, REJECTED
from truedraw.sampling.kernels.cutting import Scratch
from truedraw.sampling.kernels.edited import draw_there
from truedraw.sampling.kernels.racing import race_all, race_remainder
from truedraw.sampling.names import named, tossed
from truedraw.sampling.transform import Transform
from truedraw.threads.board import share
from truedraw.threads.borrowing import borrowed
from truedraw.threads.jobs import this_call
from truedraw.verify.fused.path import WRITTEN, path_of, weight_at
from truedraw.verify.fused.places import failed, lays, p_at
from truedraw.verify.fused.remainder import remainder_of
from truedraw.verify.fused.rows import CUT, kind_of, logs_there, look, unknown
from truedraw.verify.fused.tree import next_child, q_of, spell, spelled_nowhere, tried_nodes

ACCEPT, RESIDUAL = int(Purpose.ACCEPT), int(Purpose.RESIDUAL)


@compiled(nogil=True, error_model="numpy")
def traverse(board, given, takes_part):  # type: ignore[no-untyped-def]
    """walk.walk, by the p/q rule; scratch: a Path's memory, then as of a plain Scratch."""
    if not takes_part:
        share(board, this_call(board, given))
        return
    logits, law, tree, names, scratch, told, slate = borrowed(given)
    name = slate[POSITION], *names[0]
    count, accepted, rejected = traversed(logits, law, tree, (name, names[1]), scratch, told)
    slate[COUNT], slate[ACCEPTED], slate[REJECTED] = count, accepted, rejected


@inner(error_model="numpy")
def traversed(logits, law, tree, names, scratch, told):  # type: ignore[no-untyped-def]
    """(tokens, accepted, rejected), as walk.walked."""
    how, edited, n = Transform(*law[0]), law[1], len(tree[0])
    kind, known, path = kind_of(how, edited, logits.shape[1]), unknown(n + 1), path_of(n)
    given, tried, depth = (
        (logits, kind, how, known, edited),
        tried_nodes(tree),
        path.rows[0],
    )  # a constant is compiled apart
    while True:
        child, path.seen[depth] = next_child(tree, tried, path.rows[depth], path.seen[depth])
        if child >= 0 and path.tops[depth] > 0.0:
            if not lays(given, path, depth, tree, scratch):
                return 0, 0, False
            down(given, path, depth, child, tree, scratch[0])
            depth += 1
        elif depth == 0 or keeps(path, depth, names[0]):
            return ending(given, path, depth, (tree, *names), scratch, told)
        else:
            depth -= 1
            failed(given, path, depth, tree, scratch[0])


@inner(error_model="numpy")
def keeps(path, depth, name):  # type: ignore[no-untyped-def]
    """The coin of the end of the path."""
    return tossed(path.tops[depth], path.bottoms[depth], named(name, ACCEPT, 0, path.rows[depth] - 1))


@inner(error_model="numpy")
def down(given, path, depth, child, tree, memory):  # type: ignore[no-untyped-def]
    """One place further, with its weight."""
    token, below = tree[0][child], depth + 1
    path.tops[below] = weight_at(path, depth) * p_at(given, path, depth, token, tree, memory)
    path.bottoms[below] = q_of(tree, child, token)
    path.rows[below], path.seen[below], path.written[below], path.left[below] = 1 + child, 0, False, False


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
            is_told = draw(given, (here, row), (chance, *asked), spare, told, count)
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
def draw(given, rows, asked, spare, told, count):  # type: ignore[no-untyped-def]
    """The next token, by the p of the first of two equal rows, told as one of the second; False where it has no law."""
    logits, _, law, _, edited = given
    token, after, before = draw_there(logits[rows[0]], law, edited, told[0, :count], asked, spare)
    told[0, count], told[1, count], told[2, count], told[3, count] = token, rows[1], after, before
    return token >= 0


@inner(error_model="numpy")
def tell(given, row, token, p, told, board):  # type: ignore[no-untyped-def]
    """A token that was chosen otherwise, with its logarithms, from p [vocab] where the law cuts; False where there is
    none, or its row has no law."""
    logits, kind, law, known, _ = given
    if token < 0 or not look(logits, kind, law, known, row, board):
        return False
    after, before = logs_there(logits, kind, law, known, row, token)
    if kind == CUT:
        after = math.log(p[token]) if p[token] > 0.0 else -np.inf
    told[0], told[1], told[2], told[3] = token, row, after, before
    return True
