"""EAGLE drafts of random numbers in every format that is read, and their network in plain numpy, nothing remembered."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from engine.decoder import llama3, softmax


@dataclass(frozen=True)
class Shape:
    """What a test bends. `format` is one of FORMATS."""

    format: str = "eagle3"
    vocab: int = 60
    known: int = 24
    target: int = 32
    width: int = 32
    inner: int = 48
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 8
    layer_ids: tuple[int, ...] | None = (1, 3)
    biases: bool = False
    head_norms: bool = False
    extra_norms: bool = False  # of speculators' "eagle"
    norm_before_residual: bool = False
    norm_before_fc: bool = False
    fc_norm: bool = False  # with norm_output what makes it EAGLE-3.1
    norm_output: bool = False
    own_embedding: bool = True
    rope_scaling: dict | None = None
    more: dict = field(default_factory=dict)  # of the config

    @property
    def third(self) -> bool:
        return self.format in ("EAGLE-3", "eagle3")

    @property
    def streams(self) -> int:
        return (3 if self.layer_ids is None else len(self.layer_ids)) if self.third else 1


FORMATS = ("EAGLE", "EAGLE-3", "eagle", "eagle3")
LAYER = {"EAGLE": "layers.0.", "EAGLE-3": "midlayer.", "eagle": "transformer.", "eagle3": "layers.0."}
EPSILON = 1e-5


def config(shape: Shape) -> dict:
    layer = {"hidden_size": shape.width, "intermediate_size": shape.inner, "num_attention_heads": shape.heads,
             "num_key_value_heads": shape.kv_heads, "head_dim": shape.head_dim, "rms_norm_eps": EPSILON,
             "rope_theta": 10000.0, "rope_scaling": shape.rope_scaling, "vocab_size": shape.vocab,
             "hidden_act": "silu", "num_hidden_layers": 1, "max_position_embeddings": 64}  # fmt: skip
    ids = {"eagle_aux_hidden_state_layer_ids": shape.layer_ids}
    wide = {"target_hidden_size": shape.target} if shape.target != shape.width else {}
    third = {"draft_vocab_size": shape.known, **wide, "norm_before_residual": shape.norm_before_residual,
             "fc_norm": shape.fc_norm, "norm_output": shape.norm_output}  # fmt: skip
    if shape.format == "EAGLE":
        return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **layer, **shape.more}
    if shape.format == "EAGLE-3":
        inner = {name: told and [each - 1 for each in told] for name, told in ids.items()}  # what puts the streams out
        return {"architectures": ["LlamaForCausalLMEagle3"], **layer, **third, "eagle_config": inner, **shape.more}
    said = {"speculators_model_type": shape.format, "transformer_layer_config": {"model_type": "llama", **layer},
            "speculators_config": {"algorithm": shape.format}}  # fmt: skip
    if shape.format == "eagle":
        return {**said, "layernorms": shape.extra_norms, "fusion_bias": shape.biases, **shape.more}
    return {**said, **third, **ids, "norm_before_fc": shape.norm_before_fc, **shape.more}


def tensors(shape: Shape, seed: int = 0) -> dict[str, np.ndarray]:
    rng, layer, width = np.random.default_rng(seed), LAYER[shape.format], shape.width
    read = (2 if shape.third else 1) * width
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    fusion = "fusion_fc" if shape.format == "eagle" else "fc"
    fused = shape.streams * shape.target if shape.third else 2 * width
    sizes = {f"{fusion}.weight": (width, fused), f"{layer}self_attn.q_proj.weight": (queries, read),
             f"{layer}self_attn.k_proj.weight": (keys, read), f"{layer}self_attn.v_proj.weight": (keys, read),
             f"{layer}self_attn.o_proj.weight": (width, queries), f"{layer}mlp.gate_proj.weight": (shape.inner, width),
             f"{layer}mlp.up_proj.weight": (shape.inner, width),
             f"{layer}mlp.down_proj.weight": (width, shape.inner)}  # fmt: skip
    norms = {f"{layer}post_attention_layernorm.weight": width}
    if shape.third:
        sizes["lm_head.weight"] = (shape.known, width)
        norms |= {f"{layer}hidden_norm.weight": width, f"{layer}input_layernorm.weight": width, "norm.weight": width}
    if shape.norm_before_fc:
        norms["input_norm.weight"] = fused
    if shape.fc_norm:
        norms |= {f"fc_norm.{number}.weight": shape.target for number in range(shape.streams)}
    if shape.extra_norms:
        norms |= {"embedding_layernorm.weight": width, f"{layer}input_layernorm.weight": width,
                  "pre_lm_head_layernorm.weight": width}  # fmt: skip
    if shape.head_norms:
        norms |= {f"{layer}self_attn.{each}_norm.weight": shape.head_dim for each in "qk"}
    if shape.own_embedding:
        sizes["embed_tokens.weight"] = (shape.vocab, width)
    found = {name: 0.8 * rng.normal(size=size) / np.sqrt(size[1]) for name, size in sizes.items()}
    found |= {name: rng.uniform(0.5, 2.0, size) for name, size in norms.items()}
    if shape.biases:
        biased = {fusion: width, f"{layer}self_attn.q_proj": queries, f"{layer}self_attn.v_proj": keys}
        found |= {f"{name}.bias": 0.3 * rng.normal(size=size) for name, size in biased.items()}
    found = {name: value.astype(np.float32) for name, value in found.items()}
    if not shape.third:
        return found
    ids = rng.choice(shape.vocab, shape.known, replace=False)  # in no order, as nothing promises one
    return {**found, "d2t": ids - np.arange(shape.known), "t2d": np.isin(np.arange(shape.vocab), ids)}


def write(folder: Path, shape: Shape, seed: int = 0, **changes) -> Path:
    """`changes` are other tensors, None = without it; dots in their names are written as __."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config(shape)))
    held = tensors(shape, seed) | {name.replace("__", "."): value for name, value in changes.items()}
    save_file({name: np.ascontiguousarray(value) for name, value in held.items() if value is not None},
              folder / "model.safetensors")  # fmt: skip
    return folder


class PlainEagle:
    """Logits behind a text and drafts, by the formulas in network.py, in float64."""

    def __init__(self, folder: Path, shape: Shape, embedding: np.ndarray, unembedding: np.ndarray) -> None:
        held = load_file(folder / "model.safetensors")
        self.shape, layer = shape, LAYER[shape.format]
        self.t = {name.removeprefix(layer).replace("fusion_fc", "fc"): value.astype(np.float64)
                  for name, value in held.items()}  # fmt: skip
        self.embedding = self.t.get("embed_tokens.weight", embedding)
        if shape.third:
            self.known = np.arange(shape.known) + held["d2t"]
        else:
            self.known, self.t["lm_head.weight"] = np.arange(shape.vocab), unembedding

    def logits(self, hidden, tokens, drafted=(), positions=None) -> np.ndarray:
        """[vocab], -inf for tokens that it does not know: behind rows of hidden [n, streams, target] with the tokens
        behind them [n], then tokens drafted one after the other."""
        h = [self.start(np.asarray(row, np.float64).reshape(-1)) for row in hidden]
        tokens = list(tokens)
        places = list(range(len(h))) if positions is None else list(positions)
        for number in range(len(drafted) + 1):
            z = self.layer(np.array(h), tokens, np.array(places))
            if number < len(drafted):
                h.append(self.norm(z, "norm") if self.shape.norm_output else z)
                tokens.append(drafted[number])
                places.append(places[-1] + 1)
        last = self.norm(z, "norm") if self.shape.third else z
        last = self.norm(last, "pre_lm_head_layernorm") if self.shape.extra_norms else last
        said = np.full(self.shape.vocab, -np.inf)
        said[self.known] = self.t["lm_head.weight"] @ last
        return said

    def start(self, features):
        if not self.shape.third:
            return features
        if self.shape.fc_norm:
            streams = np.split(features, self.shape.streams)
            features = np.concatenate([self.norm(each, f"fc_norm.{number}") for number, each in enumerate(streams)])
        return self.linear(self.norm(features, "input_norm") if self.shape.norm_before_fc else features, "fc")

    def layer(self, h, tokens, places):
        """z of the last row."""
        e = self.embedding[tokens].astype(np.float64)
        if self.shape.third:
            normed = self.norm(h, "hidden_norm")
            read = np.concatenate([self.norm(e, "input_layernorm"), normed], 1)
            residual = normed if self.shape.norm_before_residual else h
        else:
            e = self.norm(e, "embedding_layernorm") if self.shape.extra_norms else e
            residual = self.linear(np.concatenate([e, h], 1), "fc")
            read = self.norm(residual, "input_layernorm") if self.shape.extra_norms else residual
        y = residual[-1] + self.linear(self.attention(read, places), "self_attn.o_proj")
        inner = self.norm(y, "post_attention_layernorm")
        gate = self.linear(inner, "mlp.gate_proj")
        return y + self.linear(gate / (1 + np.exp(-gate)) * self.linear(inner, "mlp.up_proj"), "mlp.down_proj")

    def attention(self, read, places):
        """Of the last row over all."""
        shape, n = self.shape, len(read)
        q, k, v = (self.linear(read, f"self_attn.{each}_proj").reshape(n, -1, shape.head_dim) for each in "qkv")
        if shape.head_norms:
            q, k = self.norm(q, "self_attn.q_norm"), self.norm(k, "self_attn.k_norm")
        q, k = self.turned(q, places)[-1], self.turned(k, places)
        found = []
        for head in range(shape.heads):
            own = head // (shape.heads // shape.kv_heads)
            found.append(softmax(k[:, own] @ q[head] / np.sqrt(shape.head_dim)) @ v[:, own])
        return np.concatenate(found)

    def turned(self, x, places):
        half = self.shape.head_dim // 2
        plain = [10000.0 ** (-i / half) for i in range(half)]
        scaling = self.shape.rope_scaling
        angles = np.outer(places, [llama3(each, scaling) for each in plain] if scaling else plain)[:, None]
        return np.concatenate([x[..., :half] * np.cos(angles) - x[..., half:] * np.sin(angles),
                               x[..., half:] * np.cos(angles) + x[..., :half] * np.sin(angles)], -1)  # fmt: skip

    def linear(self, x, name):
        return x @ self.t[f"{name}.weight"].T + self.t.get(f"{name}.bias", 0.0)

    def norm(self, x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + EPSILON) * self.t[f"{name}.weight"]


def shapes() -> dict[str, Shape]:
    """One of everything that is read."""
    first, third = Shape("EAGLE", layer_ids=None), Shape("EAGLE-3")
    spec, spec3 = replace(first, format="eagle"), Shape("eagle3")
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 64}  # fmt: skip
    return {
        "EAGLE": first,
        "EAGLE with biases": replace(first, biases=True, own_embedding=False),
        "EAGLE-3": third,
        "EAGLE-3 of another width": replace(third, target=40, layer_ids=(1, 2, 3)),
        "speculators, eagle": replace(spec, own_embedding=False),
        "speculators, eagle with norms": replace(spec, extra_norms=True, biases=True),
        "speculators, eagle3": replace(spec3, kv_heads=4, head_dim=16),
        "speculators, eagle3, other norms": replace(spec3, norm_before_residual=True, norm_before_fc=True),
        "EAGLE-3.1": replace(third, target=40, fc_norm=True, norm_output=True),
        "speculators, eagle3 with normed states": replace(spec3, norm_output=True, norm_before_fc=True),
        "speculators, eagle3 of qwen3": replace(spec3, head_norms=True, biases=True, rope_scaling=scaling),
    }
