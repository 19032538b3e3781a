"""The oracle, under the name that tests use."""

from truedraw.testing.enumeration import KeyReused, SampleWalker, Walker, law_of, total_variation

__all__ = ["KeyReused", "SampleWalker", "Walker", "law_of", "total_variation"]
