"""Small random models of transformers, written as folders and opened by the PyTorch engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from engine.decoder import path_to, tv
from truedraw.engine.pytorch import PyTorchEngine
from truedraw.protocol import Work

VOCAB, CONTEXT, WINDOW = 96, 160, 24
MARKS = {"bos_token_id": 1, "eos_token_id": 2}  # those that a family has by itself lie outside of this vocabulary
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT,
    "pad_token_id": 0,
    **MARKS,
}
GPT = {"vocab_size": VOCAB, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT, **MARKS}
BLOOM = {"vocab_size": VOCAB, "hidden_size": 64, "n_layer": 2, "n_head": 4}
MAMBA = {"vocab_size": VOCAB, "hidden_size": 64, "num_hidden_layers": 2, "state_size": 8}
LATENT = {"num_key_value_heads": 4, "moe_intermediate_size": 32, "n_routed_experts": 4, "num_experts_per_tok": 2,
          "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "q_lora_rank": 16, "kv_lora_rank": 16,
          "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 16, "n_shared_experts": 1}  # fmt: skip
LOCAL = {"vocab_size": VOCAB, "hidden_size": 64, "num_layers": 2, "num_heads": 4, "window_size": WINDOW,
         "attention_types": [[["global", "local"], 1]], "max_position_embeddings": CONTEXT, **MARKS}  # fmt: skip
FALCON = {"vocab_size": VOCAB, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "alibi": True,
          "new_decoder_architecture": False, "multi_query": False, "max_position_embeddings": CONTEXT,
          **MARKS}  # fmt: skip
LLAMA4 = {**SIZES, "intermediate_size_mlp": 96, "head_dim": 16, "num_local_experts": 2, "floor_scale": 16,
          "attn_scale": 0.5, "attention_chunk_size": 8192, "no_rope_layer_interval": 2, "moe_layers": []}  # fmt: skip
DOGE = {**SIZES, "keep_window_size": WINDOW, "head_dim": 16}
XGLM = {"vocab_size": VOCAB, "d_model": 64, "ffn_dim": 96, "num_layers": 2, "attention_heads": 4,
        "max_position_embeddings": CONTEXT, "pad_token_id": 0, "decoder_start_token_id": 2, **MARKS}  # fmt: skip
LINEAR = {**SIZES, "head_dim": 16, "num_local_experts": 4, "block_size": 8,
          "layer_types": ["linear_attention", "full_attention"]}  # fmt: skip
GEMMA4 = {**SIZES, "head_dim": 16, "global_head_dim": 32, "sliding_window": WINDOW, "hidden_size_per_layer_input": 8,
          "vocab_size_per_layer_input": VOCAB, "layer_types": ["sliding_attention", "full_attention"]}  # fmt: skip
FAMILIES: dict[str, tuple[str, dict[str, Any], int]] = {
    "llama": ("LlamaForCausalLM", SIZES, CONTEXT),
    "qwen2": ("Qwen2ForCausalLM", SIZES, CONTEXT),
    "qwen3": ("Qwen3ForCausalLM", {**SIZES, "head_dim": 32}, CONTEXT),
    "gpt2": ("GPT2LMHeadModel", GPT, CONTEXT),
    "gpt-neox": ("GPTNeoXForCausalLM", SIZES, CONTEXT),
    "mixture of experts": ("MixtralForCausalLM", {**SIZES, "num_local_experts": 4}, CONTEXT),
    "latent attention": ("DeepseekV3ForCausalLM", {**SIZES, **LATENT}, CONTEXT),
    "sliding window": ("MistralForCausalLM", {**SIZES, "sliding_window": WINDOW}, WINDOW),
    "windows in some layers": ("Gemma3ForCausalLM", {**SIZES, "head_dim": 16, "sliding_window": WINDOW}, WINDOW),
    "layers with settings of their own": ("Gemma4ForCausalLM", GEMMA4, WINDOW),
    "a table of positions": ("XGLMForCausalLM", XGLM, CONTEXT),
    "linear attention": ("MiniMaxForCausalLM", LINEAR, 0),
    "a window over slots": ("GPTNeoForCausalLM", LOCAL, 0),
    "ALiBi": ("BloomForCausalLM", BLOOM, 0),
    "attention that differs by its form": ("FalconForCausalLM", FALCON, 0),
    "scales by slots": ("Llama4ForCausalLM", LLAMA4, 0),
    "rows chosen by layers": ("DogeForCausalLM", DOGE, WINDOW),
    "recurrent": ("MambaForCausalLM", MAMBA, 0),
}
"""Class, settings, and the tokens within which texts stand in a batch together."""
MAIN = ("llama", "qwen2", "qwen3", "gpt2")


def random_model(family: str) -> Any:
    """Far from the near-uniform law of an untrained model."""
    import torch
    import transformers

    kind = getattr(transformers, FAMILIES[family][0])
    torch.manual_seed(1)
    model = kind(kind.config_class(**FAMILIES[family][1])).float().eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, 0, 0.15)
    return model


def write_family(folder: Path, family: str) -> Any:
    """The model that was written."""
    from transformers.utils import logging

    model = random_model(family)
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    logging.enable_progress_bar()
    write_tokenizer(folder)
    return model


def write_tokenizer(folder: Path) -> None:
    """Each token a word."""
    from tokenizers import Tokenizer, decoders, models

    words = {f"t{number}": number for number in range(VOCAB)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="t0"))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))


def open_family(folder: Path, **options: Any) -> PyTorchEngine:
    """An engine over a folder."""
    return PyTorchEngine.load(PyTorchEngine.open_folder(str(folder), folder), **options)


def plain_row(model: Any, tokens: list[int]) -> np.ndarray:
    """What transformers says follows a text, [1, vocab]."""
    import torch

    with torch.no_grad():
        return model(torch.tensor([tokens])).logits[0, -1:].numpy()


def farthest(model: Any, engine: PyTorchEngine, works: list[Work]) -> float:
    """The largest total variation of a row of a pass from a plain forward over its own text."""
    worst = 0.0
    for work, scores in zip(works, engine.forward(works), strict=True):
        assert scores.logits.shape == (1 + len(work.proposal), VOCAB)
        assert scores.logits.dtype == np.float32
        for node in range(-1, len(work.proposal)):
            expected = plain_row(model, [*work.sequence.tokens, *path_to(work.proposal, node)])
            worst = max(worst, tv(scores.logits[1 + node : 2 + node], expected))
    return worst
