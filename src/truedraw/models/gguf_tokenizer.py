"""A tokenizer from a GGUF's tables: byte-level BPE ("gpt2") or SentencePiece BPE with scores ("llama")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truedraw.errors import BadModelFile, UnsupportedModel
from truedraw.models.fields import Fields
from truedraw.models.gguf_file import GGUFFile
from truedraw.models.pretokenizers import WORD_RULES, WordRule

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PREFIX = "tokenizer.ggml."
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4  # token types of the GGUF specification
NONE = (-1, 0xFFFFFFFF)  # an id of no token, as some converters write it
FRAMING = ("bos", "eos", "eot", "eom")  # tokens that begin and end texts
NAMED = (*FRAMING, "unknown", "padding")  # tokens that have a field of their own
PIECES = {"bos": 1, "eos": 2, "unknown": 0}  # of SentencePiece, where the file does not say
ENDINGS = (
    *("<|endoftext|>", "<|end_of_text|>", "<end_of_utterance>", "<｜end▁of▁sentence｜>", "</s>", "<eos>", "[EOS]"),
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<turn|>", "<EOT>", "_<EOT>", "[EOT]"),
    *("<|return|>", "<|call|>", "<|calls|>", "<|flush|>", "<|tool_response>", "[e~["),
)
"""Control tokens and user-defined ones that end a text whatever the metadata say, as llama.cpp has it."""
SWITCHES = ("add_bos_token", "add_eos_token", "add_space_prefix")
SHAPES = {f"{PREFIX}model": str, f"{PREFIX}pre": str, f"{PREFIX}token_type": list, "tokenizer.chat_template": str} | {
    f"{PREFIX}{key}": bool for key in SWITCHES
}
"""What is looked at without further checks."""
SPACE = "▁"  # SentencePiece's visible space


def describe_tokenizer(file: GGUFFile) -> str:
    """For people: the kind and its word rule."""
    fields = _fields(file)
    kind = fields.get("model", "none")
    return f"byte-level BPE ({fields.get('pre', 'default')})" if kind == "gpt2" else f"SentencePiece BPE ({kind})"


def check_tokenizer(file: GGUFFile) -> None:
    """Refuse at once what `build_tokenizer` would refuse for its kind or size."""
    fields = _fields(file)
    for key, shape in SHAPES.items():
        if not isinstance(fields.values.get(key, shape()), shape):
            raise BadModelFile(f"{fields.where} holds a {key} of another type than it should be; fetch the file again")
    kind, word_rule = fields.get("model"), fields.get("pre", "default")
    if kind not in ("gpt2", "llama"):
        raise UnsupportedModel(f"{file.path} has a tokenizer of the kind {kind!r}; supported: gpt2, llama")
    if kind == "gpt2" and word_rule not in WORD_RULES:
        raise UnsupportedModel(f"{file.path} cuts words by the rule {word_rule!r}; supported: {', '.join(WORD_RULES)}")
    tokens = _table(fields, "tokens", str)
    if len(set(tokens)) != len(tokens):
        raise BadModelFile(f"{file.path}: the vocabulary names a token twice; fetch the file again")
    types = fields.get("token_type", tokens)
    if len(types) != len(tokens):
        raise BadModelFile(f"{file.path}: {len(types)} types for {len(tokens)} tokens; fetch the file again")
    for key in NAMED:
        _token(fields, key, tokens)


def build_tokenizer(file: GGUFFile) -> Tokenizer:
    """Ids as in llama.cpp and in the model's own tokenizer; raises BadModelFile and UnsupportedModel."""
    check_tokenizer(file)
    fields = _fields(file)
    if fields.get("model") == "gpt2":
        rule = WORD_RULES[fields.get("pre", "default")]
        tokenizer, adds_bos = _byte_level(fields, rule), rule.adds_bos
    else:
        tokenizer, adds_bos = _sentence_piece(fields), True
    _add_special(tokenizer, fields)
    _frame(tokenizer, fields, adds_bos)
    return tokenizer


def _byte_level(fields: Fields, rule: WordRule) -> Tokenizer:
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    vocabulary = {token: i for i, token in enumerate(_table(fields, "tokens", str))}
    merges = [_pair(fields, line) for line in _table(fields, "merges", str)]
    tokenizer = Tokenizer(_bpe(fields, models, vocabulary, merges, ignore_merges=rule.whole_words_first))
    cuts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in rule.patterns]
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*cuts, bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    if rule.composes:
        tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def _sentence_piece(fields: Fields) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, normalizers

    tokens = _table(fields, "tokens", str)
    unknown = _token(fields, "unknown", tokens)
    options = {"byte_fallback": True, "fuse_unk": True, "unk_token": unknown}
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(_bpe(fields, models, vocabulary, _scored_merges(fields, tokens), **options))
    steps: list[decoders.Decoder] = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    visible: list[normalizers.Normalizer] = [normalizers.Replace(" ", SPACE)]
    if fields.get("add_space_prefix", True):
        visible.insert(0, normalizers.Prepend(SPACE))
        steps.append(decoders.Strip(" ", 1, 0))
    tokenizer.normalizer = normalizers.Sequence(visible)
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def _scored_merges(fields: Fields, tokens: list[str]) -> list[tuple[str, str]]:
    """Every way to make a piece of two pieces, best score first: SentencePiece's greedy rule as BPE ranks."""
    scores = _table(fields, "scores", float)
    if len(scores) != len(tokens):
        raise BadModelFile(f"{fields.where}: {len(scores)} scores for {len(tokens)} tokens; fetch the file again")
    types = fields.get("token_type", [NORMAL] * len(tokens))
    pieces = {token: score for token, score, kind in zip(tokens, scores, types, strict=False) if kind == NORMAL}
    ranked = sorted(pieces, key=pieces.__getitem__, reverse=True)  # stable: equal scores keep the file's order
    cuts = ((piece[:at], piece[at:]) for piece in ranked for at in range(1, len(piece)))
    return [(left, right) for left, right in cuts if left in pieces and right in pieces]


def _bpe(fields: Fields, models: Any, vocabulary: dict[str, int], merges: list[tuple[str, str]], **options: Any) -> Any:
    try:
        return models.BPE(vocab=vocabulary, merges=merges, **options)
    except Exception as error:  # the package raises bare Exception
        raise BadModelFile(f"{fields.where} has a broken vocabulary: {error}; fetch the file again") from error


def _add_special(tokenizer: Tokenizer, fields: Fields) -> None:
    """Control tokens are recognised in text and hidden in output, and so are those that begin or end texts, whatever
    type they have; other user-defined ones are only recognised."""
    from tokenizers import AddedToken

    tokens, types = _table(fields, "tokens", str), fields.get("token_type", [])
    of_type = {kind: [i for i, each in enumerate(types) if each == kind] for kind in (UNKNOWN, CONTROL, USER_DEFINED)}
    named = [i for i in (_id(fields, key, len(tokens)) for key in FRAMING) if i is not None]
    control = {*of_type[UNKNOWN], *of_type[CONTROL], *named, *_ending_ids(tokens, types)}
    visible = [i for i in of_type[USER_DEFINED] if i not in control]
    tokenizer.add_special_tokens([AddedToken(tokens[i], normalized=False, special=True) for i in sorted(control)])
    tokenizer.add_tokens([AddedToken(tokens[i], normalized=False) for i in visible])


def _frame(tokenizer: Tokenizer, fields: Fields, adds_bos: bool) -> None:
    """The tokens put before and after a text where the file, or else its family, says so."""
    from tokenizers import processors

    tokens = _table(fields, "tokens", str)
    bos, eos = _token(fields, "bos", tokens), _token(fields, "eos", tokens)
    before = [bos] if bos is not None and fields.get("add_bos_token", adds_bos) else []
    after = [eos] if eos is not None and fields.get("add_eos_token", False) else []
    if before or after:
        ids = [(token, tokens.index(token)) for token in dict.fromkeys(before + after)]
        tokenizer.post_processor = processors.TemplateProcessing(single=[*before, "$A", *after], special_tokens=ids)


def _fields(file: GGUFFile) -> Fields:
    return Fields(file.path, file.metadata, PREFIX)


def _table(fields: Fields, key: str, kind: type) -> list[Any]:
    table = fields.get(key)
    if not isinstance(table, list) or not table or not all(isinstance(entry, kind) for entry in table):
        raise BadModelFile(f"{fields.where} has no {PREFIX}{key}; the file is incomplete, fetch it again")
    return table


def token_id(file: GGUFFile, key: str) -> int | None:
    """Of "bos", "eos" and so on, where the file, which `check_tokenizer` has passed, names one."""
    return _id(_fields(file), key, len(file.metadata[f"{PREFIX}tokens"]))


def ending_ids(file: GGUFFile) -> list[int]:
    """Of the tokens that end a text by their name."""
    fields = _fields(file)
    return _ending_ids(_table(fields, "tokens", str), fields.get("token_type", []))


def _ending_ids(tokens: list[str], types: list[int]) -> list[int]:
    known = zip(tokens, types, strict=False)
    return [i for i, (token, kind) in enumerate(known) if token in ENDINGS and kind in (CONTROL, USER_DEFINED)]


def _id(fields: Fields, key: str, count: int) -> int | None:
    i = fields.get(f"{key}_token_id")
    if i is None and fields.get("model") == "llama" and PIECES.get(key, count) < count:
        return PIECES[key]
    if i is None or i in NONE or (key == "padding" and isinstance(i, int) and i >= count):
        return None  # a text that is never padded can do without
    if not isinstance(i, int) or not 0 <= i < count:
        raise BadModelFile(f"{fields.where}: {key}_token_id is {i!r}, but there are {count} tokens")
    return i


def _token(fields: Fields, key: str, tokens: list[str]) -> str | None:
    i = _id(fields, key, len(tokens))
    return None if i is None else tokens[i]


def _pair(fields: Fields, line: str) -> tuple[str, str]:
    left, space, right = line.partition(" ")
    if not (left and space and right):
        raise BadModelFile(f"{fields.where}: {line!r} is not a merge of two tokens; fetch the file again")
    return left, right
