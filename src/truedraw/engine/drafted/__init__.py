"""One engine for two readers: who scores texts, and who drafts behind them; see engine.py."""

from truedraw.engine.drafted.engine import DraftingEngine, ScoringEngine

__all__ = ["DraftingEngine", "ScoringEngine"]
