"""Arithmetic written out in LLVM's operations, of single numbers and of vectors alike: one formula, the same bits."""

# ruff: noqa: ARG001 - numba calls these with fixed arguments

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WORD = ir.IntType(64)


class Number:
    """A double, or a vector of them, in a function that is being built."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _of(self, other: Number | float) -> Any:
        """What takes part in an operation with this."""
        return other.value if isinstance(other, Number) else constant(self.value.type, other)

    def __add__(self, other: Number | float) -> Number:
        """Rounded once, as each of these."""
        return Number(self.builder, self.builder.fadd(self.value, self._of(other)))

    def __sub__(self, other: Number | float) -> Number:
        """Likewise."""
        return Number(self.builder, self.builder.fsub(self.value, self._of(other)))

    def __mul__(self, other: Number | float) -> Number:
        """Likewise."""
        return Number(self.builder, self.builder.fmul(self.value, self._of(other)))

    def fma(self, factor: Number | float, summand: Number | float) -> Number:
        """Times a factor, plus a summand: rounded once."""
        kind = self.value.type
        name = f"v{kind.count}f64" if isinstance(kind, ir.VectorType) else "f64"
        form = ir.FunctionType(kind, [kind] * 3)
        call = cgutils.get_or_insert_function(self.builder.module, form, f"llvm.fma.{name}")
        return Number(self.builder, self.builder.call(call, [self.value, self._of(factor), self._of(summand)]))

    def at_least(self, bound: float) -> Number:
        """The bound in place of what is below it, or no number."""
        is_above = self.builder.fcmp_ordered(">", self.value, self._of(bound))
        return Number(self.builder, self.builder.select(is_above, self.value, self._of(bound)))

    def raised(self, whole: Number, bits: int) -> Number:
        """Times 2 to the power of the integer in the low bits of `whole`, as the exponent's bits behind `bits` say."""
        kind = self.value.type
        word = ir.VectorType(WORD, kind.count) if isinstance(kind, ir.VectorType) else WORD
        here, by = (self.builder.bitcast(each.value, word) for each in (self, whole))
        power = self.builder.shl(by, constant(word, bits))
        return Number(self.builder, self.builder.bitcast(self.builder.add(here, power), kind))

    def or_else(self, other: Number, marks: Any) -> Number:
        """The other where marks, integers, are not 0."""
        is_other = self.builder.icmp_unsigned("!=", marks, constant(marks.type, 0))
        return Number(self.builder, self.builder.select(is_other, other.value, self.value))

    def where_from(self, bound: Number, value: Number | float) -> Number:
        """A value where this is not below a bound, else 0."""
        is_there = self.builder.fcmp_ordered(">=", self.value, bound.value)
        return Number(self.builder, self.builder.select(is_there, self._of(value), self._of(0.0)))


def constant(kind: Any, value: float) -> Any:
    """A number, or a vector of such."""
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)


Formula = Callable[[Sequence[Any], Sequence[Number]], Sequence[Number]]
"""Terms, of what is read at one index of some arrays, Numbers and integers, and of further Numbers."""


def written(formula: Callable[[Number], Number]) -> Any:
    """For compiled code, f(x) of one float64."""

    @intrinsic  # type: ignore[untyped-decorator]
    def single(typing: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return formula(Number(builder, arguments[0])).value

        return types.float64(types.float64), generate

    return single
