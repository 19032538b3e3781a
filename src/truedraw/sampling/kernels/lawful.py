"""What is asked of every law that a drafter hands over, in one look at its numbers."""

from __future__ import annotations

from truedraw.compiled import compiled, inner


@compiled(nogil=True, error_model="numpy", fastmath={"reassoc"})
def is_lawful(tokens, weights, vocab, tolerance):  # type: ignore[no-untyped-def]
    """Whether weights [m], m >= 1, are not below 0, with a sum of 1 to within the tolerance, and tokens [m] rise, all
    of them below `vocab`. A NaN spoils the sum."""
    total, wrong = weights[0], weights[0] < 0.0
    for i in range(1, weights.shape[0]):
        total += weights[i]
        wrong |= (weights[i] < 0.0) | (tokens[i] <= tokens[i - 1])
    inside = tokens[0] >= 0 and tokens[-1] < vocab
    return inside and not wrong and abs(total - 1.0) <= tolerance


@compiled(nogil=True, error_model="numpy")
def sum_of_squares(weights):  # type: ignore[no-untyped-def]
    """Of weights [m], added up in any order: the last bits may be other than numpy's."""
    return squares(weights)


@inner(error_model="numpy", fastmath={"reassoc"})
def squares(weights):  # type: ignore[no-untyped-def]
    """The same."""
    total = 0.0
    for i in range(weights.shape[0]):
        total += weights[i] * weights[i]
    return total
