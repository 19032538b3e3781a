from tokenizers import AddedToken, Tokenizer, models

from truedraw.models.added_tokens import add_described


class Counting:
    """A tokenizer that counts how often it is changed: each time takes as long as it has added tokens."""

    def __init__(self, inner):
        self.inner, self.changes = inner, 0

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def add_tokens(self, tokens):
        self.changes += 1
        return self.inner.add_tokens(tokens)


def test_tokens_that_are_as_described_are_left_alone():
    inner = Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    inner.add_tokens([AddedToken(f"<{i}>", normalized=False) for i in range(50)])
    entries = {str(2 + i): {"content": f"<{i}>", "normalized": False, "lstrip": i == 7} for i in range(51)}
    found = Counting(inner)
    add_described(found, entries, vocab_size=100)
    assert found.changes == 2  # one that takes a space with it, and a new one
    assert inner.get_added_tokens_decoder()[9].lstrip
    assert inner.token_to_id("<50>") == 52
