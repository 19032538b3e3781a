"""transformers' generate on torch, bfloat16: the fastest of its types on CPUs that have it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import AutoModelForCausalLM, GgufConfig
from transformers.utils.logging import disable_progress_bar

from truedraw.models import Checkpoint


class Transformers:
    """The model as transformers reads the same file."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        path, how = checkpoint.path, {}
        if path.is_file():  # dequantised once: its kernels for packed weights are several times slower
            path, how = path.parent, {"gguf_file": path.name, "quantization_config": GgufConfig(dequantize=True)}
        disable_progress_bar()
        self._model = AutoModelForCausalLM.from_pretrained(
            str(path), dtype=torch.bfloat16, trust_remote_code=False, **how
        ).eval()

    def sample(self, tokens: Sequence[int], n: int, max_tokens: int, temperature: float) -> int:
        """As Peer; end tokens are ignored."""
        prompt = torch.tensor([list(tokens)])
        with torch.inference_mode():
            texts = self._model.generate(
                prompt, attention_mask=torch.ones_like(prompt), do_sample=True, temperature=temperature, top_k=0,
                top_p=1.0, num_return_sequences=n, max_new_tokens=max_tokens, min_new_tokens=max_tokens,
                pad_token_id=0,
            )  # fmt: skip
        return int(texts.shape[0] * (texts.shape[1] - prompt.shape[1]))
