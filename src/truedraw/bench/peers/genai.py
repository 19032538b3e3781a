"""OpenVINO GenAI's continuous batching, on int8 weights like truedraw's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import openvino_genai
import openvino_tokenizers
from transformers import PreTrainedTokenizerFast

from truedraw.bench.peers.exported import write_ir
from truedraw.errors import BadParameter
from truedraw.models import Checkpoint
from truedraw.silent_openvino import openvino

CACHE_GIB = 2
MOST_ROWS = 512  # in one of its passes


class ContinuousBatching:
    """One pipeline over a folder that lives as long as it does."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._folder = TemporaryDirectory(prefix="truedraw-genai-")
        if checkpoint.weights is None:
            raise BadParameter("peers", "an OpenVINO IR folder has no weights to export; take a GGUF file")
        folder = write_ir(Path(self._folder.name) / "model", checkpoint.config, checkpoint.weights)
        _write_tokenizer(folder, checkpoint)
        settings = openvino_genai.SchedulerConfig()
        settings.cache_size, settings.max_num_batched_tokens = CACHE_GIB, MOST_ROWS
        self._pipeline = openvino_genai.ContinuousBatchingPipeline(str(folder), settings, "CPU")

    def sample(self, tokens: Sequence[int], n: int, max_tokens: int, temperature: float) -> int:
        """As Peer; end tokens are ignored."""
        wanted: Any = openvino_genai.GenerationConfig()
        wanted.do_sample, wanted.temperature, wanted.top_p = True, temperature, 1.0
        wanted.num_return_sequences, wanted.max_new_tokens, wanted.ignore_eos = n, max_tokens, True
        prompt = openvino().Tensor(np.array([list(tokens)], np.int64))
        texts = self._pipeline.generate([prompt], [wanted])[0].m_generation_ids
        return sum(len(text) for text in texts)


def _write_tokenizer(folder: Path, checkpoint: Checkpoint) -> None:
    plain = checkpoint.text.load_tokenizer()
    end = plain.id_to_token(min(checkpoint.text.eos_ids, default=0))  # it takes no tokenizer without one
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, eos_token=end)
    both = openvino_tokenizers.convert_tokenizer(tokenizer, with_detokenizer=True)
    for part, name in zip(both, ("openvino_tokenizer.xml", "openvino_detokenizer.xml"), strict=True):
        openvino().save_model(part, folder / name)
