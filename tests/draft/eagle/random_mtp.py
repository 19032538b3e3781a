"""Models of MiMo's shape with random MTP layers, and such a layer in plain numpy, nothing remembered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.decoder import softmax
from models.tiny_models import random_tensors, tiny_config, write_folder
from truedraw.protocol import ModelConfig

CONFIG = tiny_config("qwen2", context_length=512, tie_embeddings=False)
PREFIX = "model.mtp_layers."
CLASS = "MiMoForCausalLM"


def layer_sizes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """As the published checkpoints have them."""
    width, inner = config.hidden_size, config.intermediate_size
    queries, keys = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    return {
        "token_layernorm.weight": (width,), "hidden_layernorm.weight": (width,), "final_layernorm.weight": (width,),
        "input_proj.weight": (width, 2 * width), "input_layernorm.weight": (width,),
        "post_attention_layernorm.weight": (width,), "self_attn.q_proj.weight": (queries, width),
        "self_attn.q_proj.bias": (queries,), "self_attn.k_proj.weight": (keys, width), "self_attn.k_proj.bias": (keys,),
        "self_attn.v_proj.weight": (keys, width), "self_attn.v_proj.bias": (keys,),
        "self_attn.o_proj.weight": (width, queries), "mlp.gate_proj.weight": (inner, width),
        "mlp.up_proj.weight": (inner, width), "mlp.down_proj.weight": (width, inner),
    }  # fmt: skip


def mtp_tensors(config: ModelConfig, count: int = 1, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng([seed, 77])
    found = {}
    for number in range(count):
        for part, size in layer_sizes(config).items():
            drawn = rng.uniform(0.5, 2.0, size) if "norm" in part else rng.normal(size=size) / np.sqrt(size[-1])
            found[f"{PREFIX}{number}.{part}"] = drawn.astype(np.float32)
    return found


def model_tensors(config: ModelConfig, seed: int = 0) -> dict[str, np.ndarray]:
    """Of a model that is sure of something: a draft can be right now and then."""
    tensors = random_tensors(config, seed)
    return {**tensors, "model.norm.weight": tensors["model.norm.weight"] * 4}


def write_mimo(folder: Path, config: ModelConfig = CONFIG, count: int = 1, seed: int = 0, **changes) -> Path:
    """A whole model. `changes`: other tensors of the first MTP layer, None = without, dots written as __."""
    held = {**model_tensors(config, seed), **mtp_tensors(config, count, seed)}
    held |= {f"{PREFIX}0.{name.replace('__', '.')}": value for name, value in changes.items()}
    held = {name: np.ascontiguousarray(value) for name, value in held.items() if value is not None}
    says = {"architectures": [CLASS], "model_type": "mimo", "attention_bias": True, "num_nextn_predict_layers": count}
    return write_folder(folder, config, held, **says)


@dataclass(frozen=True)
class Mistakes:
    """What another reading of the layer would do; none of it is right."""

    token_first: bool = False  # the fusion reads (token, state)
    reads_first_token: bool = False  # the embedding behind a text's first token is not 0
    raw_states: bool = False  # further rows read z before its norm
    swapped_norms: bool = False


class PlainMtp:
    """Logits behind a text and drafts, in float64."""

    def __init__(self, config: ModelConfig, tensors, embedding, unembedding, wrong: Mistakes | None = None) -> None:
        self.config, self.wrong = config, wrong or Mistakes()
        prefix = f"{PREFIX}0."
        self.t = {name[len(prefix):]: value.astype(np.float64) for name, value in tensors.items()
                  if name.startswith(prefix)}  # fmt: skip
        self.embedding, self.unembedding = (np.asarray(each, np.float64) for each in (embedding, unembedding))

    def logits(self, hidden, tokens, drafted=(), positions=None) -> np.ndarray:
        """[vocab] behind rows of hidden [n, width] with the tokens behind them [n], then drafted tokens in a row."""
        h, tokens = [np.asarray(row, np.float64) for row in hidden], list(tokens)
        places = list(range(len(h))) if positions is None else list(positions)
        for number in range(len(drafted) + 1):
            z = self.layer(np.array(h), tokens, np.array(places))
            said = self.norm(z, "final_layernorm")
            if number < len(drafted):
                h.append(z if self.wrong.raw_states else said)
                tokens.append(drafted[number])
                places.append(places[-1] + 1)
        return self.unembedding @ said

    def layer(self, h, tokens, places):
        """z of the last row."""
        e = self.embedding[tokens]
        if not self.wrong.reads_first_token:
            e = np.where((places == 0)[:, None], 0.0, e)
        norms = ("hidden", "token") if not self.wrong.swapped_norms else ("token", "hidden")
        parts = [self.norm(x, f"{name}_layernorm") for x, name in zip((h, e), norms, strict=True)]
        u = self.linear(np.concatenate(parts[::-1] if self.wrong.token_first else parts, 1), "input_proj")
        y = u[-1] + self.linear(self.attention(self.norm(u, "input_layernorm"), places), "self_attn.o_proj")
        inner = self.norm(y, "post_attention_layernorm")
        gate = self.linear(inner, "mlp.gate_proj")
        return y + self.linear(gate / (1 + np.exp(-gate)) * self.linear(inner, "mlp.up_proj"), "mlp.down_proj")

    def attention(self, read, places):
        """Of the last row over all."""
        config, n = self.config, len(read)
        q, k, v = (self.linear(read, f"self_attn.{each}_proj").reshape(n, -1, config.head_dim) for each in "qkv")
        q, k, shared = self.turned(q, places)[-1], self.turned(k, places), config.num_heads // config.num_kv_heads
        mixed = [softmax(k[:, head // shared] @ q[head] / np.sqrt(config.head_dim)) @ v[:, head // shared]
                 for head in range(config.num_heads)]  # fmt: skip
        return np.concatenate(mixed)

    def turned(self, x, places):
        half = self.config.head_dim // 2
        angles = np.outer(places, self.config.rope_theta ** (-np.arange(half) / half))[:, None]
        low, high = x[..., :half], x[..., half:]
        return np.concatenate([low * np.cos(angles) - high * np.sin(angles),
                               high * np.cos(angles) + low * np.sin(angles)], -1)  # fmt: skip

    def linear(self, x, name):
        return x @ self.t[f"{name}.weight"].T + self.t.get(f"{name}.bias", 0.0)

    def norm(self, x, name):
        scale = np.sqrt((x**2).mean(-1, keepdims=True) + self.config.rms_norm_eps)
        return x / scale * self.t[f"{name}.weight"]


SHAPES = {
    "MiMo": CONFIG,
    "heads shared by none": replace(CONFIG, num_kv_heads=4, rope_theta=640000.0),
    "tied, wide heads": replace(CONFIG, num_kv_heads=1, head_dim=32, tie_embeddings=True),
}
