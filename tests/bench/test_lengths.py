from truedraw import SamplingParams
from truedraw.bench.lengths import WARM_UP_TOKENS, short, whole


def test_a_warm_up_is_short_and_no_contradiction() -> None:
    assert short(SamplingParams(max_tokens=200, min_tokens=100, top_k=3)) == SamplingParams(
        max_tokens=WARM_UP_TOKENS, min_tokens=WARM_UP_TOKENS, top_k=3
    )
    assert short(SamplingParams(max_tokens=3)) == SamplingParams(max_tokens=3)


def test_nothing_ends_a_whole_text() -> None:
    params = whole(SamplingParams(stop=("a",), stop_token_ids=(1,), temperature=0.5))
    assert params == SamplingParams(ignore_eos=True, temperature=0.5)
