"""Models of transformers on PyTorch: any architecture, CPU or GPU, correct before fast. Needs the extra "torch"."""

from truedraw.engine.pytorch.engine import PyTorchEngine

__all__ = ["PyTorchEngine"]
