"""The default engine: paged attention on CPUs, one ragged pass for any number of texts and draft trees."""

from truedraw.engine.cpu.engine import CPUEngine
from truedraw.engine.cpu.selftest import InvarianceReport, check_invariance

__all__ = ["CPUEngine", "InvarianceReport", "check_invariance"]
