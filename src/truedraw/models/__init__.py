"""What a model name means: a catalogue entry, a GGUF file, a model folder, a name on the hub."""

from truedraw.models.checkpoint import Checkpoint, Progress, TextParts
from truedraw.models.opening import open_checkpoint

__all__ = ["Checkpoint", "Progress", "TextParts", "open_checkpoint"]
