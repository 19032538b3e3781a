"""A compiler that has something to do in the middle of a run."""

from __future__ import annotations

from truedraw.engine.tabular import TabularEngine
from truedraw.sampling.working_time import COMPILER

COMPILING = 1000.0  # seconds, which pass for the compiler alone: a clock that stands still for it goes back by them


def compile_in_a_pass(monkeypatch, of: int) -> None:
    """In one of so many passes, so that some run that counts has it."""
    forward, passes = TabularEngine.forward, [0]

    def compiling(self, *given):
        passes[0] += 1
        if passes[0] % of == 0:
            COMPILER._state = COMPILER.seconds + COMPILING, None
        return forward(self, *given)

    monkeypatch.setattr(COMPILER, "_state", COMPILER._state)  # put back behind the test
    monkeypatch.setattr(TabularEngine, "forward", compiling)
