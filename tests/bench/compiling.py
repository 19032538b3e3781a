"""A compiler that has something to do in the middle of a run."""

from __future__ import annotations

from time import sleep

from truedraw.engine.tabular import TabularEngine
from truedraw.sampling.working_time import COMPILER

COMPILING = 0.4  # seconds; more than any run on the toy takes


def compile_in_a_pass(monkeypatch, of: int) -> None:
    """In one of so many passes, so that some run that counts has it."""
    forward, passes = TabularEngine.forward, [0]

    def compiling(self, *given):
        passes[0] += 1
        if passes[0] % of == 0:
            COMPILER.begin()
            sleep(COMPILING)
            COMPILER.end()
        return forward(self, *given)

    monkeypatch.setattr(TabularEngine, "forward", compiling)
