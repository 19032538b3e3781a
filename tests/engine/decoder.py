"""Tiny random decoders, and what they compute, written out plainly in float64."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from truedraw.engine.cpu import CPUEngine
from truedraw.errors import BadModelFile
from truedraw.models import Checkpoint, TextParts
from truedraw.models.layout import expected_shapes
from truedraw.protocol import ROOT, ModelConfig, Packed, Proposal

PLAIN = ModelConfig(
    architecture="llama",
    vocab_size=96,
    context_length=160,
    hidden_size=64,
    intermediate_size=96,
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    head_dim=32,
    rms_norm_eps=1e-5,
    rope_theta=10000.0,
    rope_scaling=None,
    tie_embeddings=True,
    qkv_bias=False,
    qk_norm=False,
)
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
CONFIGS = {
    "llama": PLAIN,
    "llama, separate head": replace(PLAIN, tie_embeddings=False, num_kv_heads=4),
    "llama, linear rope": replace(PLAIN, rope_scaling={"rope_type": "linear", "factor": 4.0}),
    "llama, llama3 rope": replace(PLAIN, rope_scaling=LLAMA3, rope_theta=500000.0),
    "qwen2": replace(PLAIN, architecture="qwen2", qkv_bias=True, num_kv_heads=1),
    "qwen3": replace(
        PLAIN, architecture="qwen3", qk_norm=True, head_dim=64, tie_embeddings=False, rms_norm_eps=0.3
    ),  # so much that no norm can do without
}


class RandomWeights:
    """Implements protocol.Weights; every tensor is drawn when first asked for.

    packed_bits: 0, 8 as in Q8_0, 4 as in Q4_0, and `with_least` as in Q4_1.
    """

    def __init__(self, config: ModelConfig, seed: int = 0, packed_bits: int = 0, with_least: bool = False) -> None:
        self._shapes = expected_shapes(config)
        self._seed = seed
        self.packed_bits, self._with_least = packed_bits, with_least

    def names(self) -> list[str]:
        return list(self._shapes)

    def stored_as(self, name: str) -> str:
        return (
            {0: "F32", 4: "Q4_1" if self._with_least else "Q4_0", 8: "Q8_0"}[self.packed_bits]
            if len(self._shapes[name]) == 2
            else "F32"
        )

    def dense(self, name: str) -> np.ndarray:
        if name not in self._shapes:
            raise BadModelFile(f"no tensor {name!r}")
        if (packed := self.packed(name)) is not None:
            groups = (packed.codes.astype(np.float32) - packed.zero).reshape(*packed.scales.shape, -1)
            least = 0 if packed.least is None else packed.least[:, :, None]
            return (groups * packed.scales[:, :, None] + least).reshape(self._shapes[name])
        return self._drawn(name)

    def packed(self, name: str) -> Packed | None:
        shape = self._shapes[name]
        if not self.packed_bits or len(shape) == 1:
            return None
        groups = self._drawn(name).reshape(shape[0], -1, 32)
        if self._with_least:
            least = groups.min(2).astype(np.float16).astype(np.float32)
            scales = (np.ptp(groups, 2) / 15).astype(np.float16).astype(np.float32)
            codes = np.rint((groups - least[:, :, None]) / scales[:, :, None]).clip(0, 15)
            return Packed(codes.astype(np.uint8).reshape(shape), scales, 0, 4, least)
        top = 2 ** (self.packed_bits - 1) - 1
        scales = (np.abs(groups).max(2) / top).astype(np.float16).astype(np.float32)
        codes = np.rint(groups / scales[:, :, None]).reshape(shape)
        zero = 8 if self.packed_bits == 4 else 0
        return Packed((codes + zero).astype(np.uint8 if zero else np.int8), scales, zero, self.packed_bits)

    def _drawn(self, name: str) -> np.ndarray:
        shape = self._shapes[name]
        rng = np.random.default_rng([self._seed, *name.encode()])
        if name.endswith("norm.weight"):
            return (1 + 0.2 * rng.normal(size=shape)).astype(np.float32)
        spread = 1.0 if len(shape) == 1 or "embed" in name else 1.5 / np.sqrt(shape[-1])
        return (spread * rng.normal(size=shape)).astype(np.float32)


class Decoder:
    """The same model, one text at a time, nothing remembered."""

    def __init__(self, config: ModelConfig, weights: RandomWeights) -> None:
        self.config = config
        self._tensors = {name: weights.dense(name).astype(np.float64) for name in weights.names()}

    def logits(self, tokens: list[int]) -> np.ndarray:
        """[tokens, vocab]"""
        return self.run(tokens)[0]

    def run(self, tokens: list[int]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Logits [tokens, vocab]; the residual streams after the layers and the final norm's output [tokens, width]."""
        x = self._tensors["model.embed_tokens.weight"][tokens]
        streams = []
        for layer in range(self.config.num_layers):
            prefix = f"model.layers.{layer}."
            x = x + self._attention(self._norm(x, prefix + "input_layernorm"), prefix + "self_attn.")
            x = x + self._feed_forward(self._norm(x, prefix + "post_attention_layernorm"), prefix + "mlp.")
            streams.append(x)
        final = self._norm(x, "model.norm")
        head = "model.embed_tokens" if self.config.tie_embeddings else "lm_head"
        return self._linear(final, head), [*streams, final]

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self._tensors[name + ".weight"].T + self._tensors.get(name + ".bias", 0.0)

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        scale = np.sqrt((x**2).mean(-1, keepdims=True) + self.config.rms_norm_eps)
        return x / scale * self._tensors[name + ".weight"]

    def _feed_forward(self, x: np.ndarray, prefix: str) -> np.ndarray:
        gate = self._linear(x, prefix + "gate_proj")
        return self._linear(gate / (1 + np.exp(-gate)) * self._linear(x, prefix + "up_proj"), prefix + "down_proj")

    def _attention(self, x: np.ndarray, prefix: str) -> np.ndarray:
        config, n = self.config, len(x)
        q, k, v = (
            self._linear(x, f"{prefix}{part}_proj").reshape(n, -1, config.head_dim).swapaxes(0, 1) for part in "qkv"
        )  # [heads, tokens, head_dim]
        if config.qk_norm:
            q, k = self._norm(q, prefix + "q_norm"), self._norm(k, prefix + "k_norm")
        q, k = self._rotated(q), self._rotated(k)
        shared = config.num_heads // config.num_kv_heads
        k, v = k.repeat(shared, axis=0), v.repeat(shared, axis=0)
        scores = q @ k.swapaxes(1, 2) / np.sqrt(config.head_dim)
        scores = np.where(np.tri(n, dtype=bool), scores, -np.inf)
        mixed = self._shares(scores) @ v
        return self._linear(mixed.swapaxes(0, 1).reshape(n, -1), prefix + "o_proj")

    def _shares(self, scores: np.ndarray) -> np.ndarray:
        return softmax(scores)

    def _rotated(self, x: np.ndarray) -> np.ndarray:
        angles = np.arange(x.shape[1])[:, None] * self._frequencies()
        low, high = np.split(x, 2, axis=-1)
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)

    def _frequencies(self) -> np.ndarray:
        half = self.config.head_dim // 2
        plain = [self.config.rope_theta ** (-i / half) for i in range(half)]
        scaling = self.config.rope_scaling or {"rope_type": "default"}
        if scaling["rope_type"] == "linear":
            return np.array(plain) / scaling["factor"]
        return np.array([llama3(f, scaling) for f in plain] if scaling["rope_type"] == "llama3" else plain)


def llama3(frequency: float, scaling: dict) -> float:
    """Llama 3.1's rule for one frequency."""
    old, low, high = (scaling[k] for k in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor"))
    wavelength = 2 * np.pi / frequency
    if wavelength < old / high:
        return frequency
    if wavelength > old / low:
        return frequency / scaling["factor"]
    smooth = (old / wavelength - low) / (high - low)
    return (1 - smooth) * frequency / scaling["factor"] + smooth * frequency


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def tv(a: np.ndarray, b: np.ndarray) -> float:
    """The largest total variation between rows of logits."""
    return float(np.abs(softmax(a.astype(np.float64)) - softmax(b.astype(np.float64))).sum(-1).max() / 2)


def tiny_checkpoint(
    config: ModelConfig = PLAIN, weights: RandomWeights | None = None, name: str = "tiny"
) -> Checkpoint:
    weights = weights or RandomWeights(config)
    text = TextParts(load_tokenizer=lambda: None)
    return Checkpoint(name, Path(name), "gguf", config, weights, text, fingerprint=name, size_bytes=0)


def tiny_engine(cache: Path, config: ModelConfig = PLAIN, random_weights: RandomWeights | None = None, **options):
    options.setdefault("numerics", "reference")
    options.setdefault("cache_bytes", 8 << 20)
    return CPUEngine.load(tiny_checkpoint(config, random_weights), cache=cache, **options)


def path_to(proposal: Proposal, node: int) -> list[int]:
    """Tokens from the text to a node, that node included."""
    path: list[int] = []
    while node != ROOT:
        path.append(int(proposal.tokens[node]))
        node = int(proposal.parents[node])
    return path[::-1]


def expected_rows(decoder: Decoder, tokens: list[int], proposal: Proposal) -> np.ndarray:
    """[1 + nodes, vocab], every row from a text of its own."""
    paths = [[], *(path_to(proposal, node) for node in range(len(proposal)))]
    return np.stack([decoder.logits([*tokens, *path])[-1] for path in paths])


def random_tree(rng: np.random.Generator, nodes: int, vocab_size: int) -> Proposal:
    parents = np.array([rng.integers(-1, node) if node else -1 for node in range(nodes)], np.int64)
    return Proposal(rng.integers(0, vocab_size, nodes), parents, (None,) * nodes)
