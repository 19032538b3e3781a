"""What users hand in and get back can be compared, and kept in sets and mappings."""

from __future__ import annotations

from array import array
from collections import deque
from copy import deepcopy

import numpy as np
import pytest

from truedraw import Request, Speculation, load
from truedraw.protocol import Loss


def test_speculation_is_its_values() -> None:
    given = {"method": "ngram", "prompt_lookup_max": 3}
    assert len({Speculation(**given), Speculation(**given), Speculation("ngram", prompt_lookup_max=4)}) == 2
    whole = {"method": "auto", "auto_sources": ["ngram", {"method": "suffix"}]}
    assert hash(Speculation(**whole)) == hash(Speculation(**whole))
    lossy = {"rejection_sample_method": "lenient", "allow_lossy": True, "lossy_options": {"lenience": 1.5}}
    assert {Speculation(**lossy): 1}[Speculation(**lossy)] == 1


IDS = [[1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), np.array([1, 2, 3], np.int32)]


def test_requests_are_equal_however_their_ids_are_held() -> None:
    params = {"stop_token_ids": np.array([4]), "logit_bias": {1: 2.0}, "schedule": {"top_k": [[0, 1], [5, 2]]}}
    requests = [Request(ids, {**params, "seed": 1}, {"method": "ngram"}) for ids in IDS]
    assert all(each == requests[0] for each in requests)
    assert len({*requests, Request(IDS[2], params)}) == 2


@pytest.mark.parametrize("ids", [[1, 2], np.array([1, 2])])
def test_requests_stay_as_they_were_made(ids) -> None:
    params, config = {"max_tokens": 6, "ignore_eos": True, "seed": 0}, {"method": "ngram"}
    requests = [Request(ids, params, config)]
    before, number = Request(tuple(ids), dict(params), dict(config)), hash(requests[0])
    params["seed"], ids[0], config["method"] = 1, 2, "suffix"
    requests.append(Request(ids, params, config))
    assert (requests[0], hash(requests[0])) == (before, number)
    with load("tabular") as model:
        assert {r.params["seed"]: found.seed for r, found in model.generate_many(requests)} == {0: 0, 1: 1}


def test_requests_keep_what_stands_in_lists_and_mappings() -> None:
    bias, stop, order = {1: 2.0}, ["a"], {"min_p": [[4, 0.1]]}
    request = Request(deque([1, 2]), {"logit_bias": bias, "stop": stop, "schedule": order}, {"of": [{"ngram": 1}]})
    given = request.prompt, request.params, request.speculative
    before = deepcopy(given)
    bias[1], order["min_p"][0][1] = 3.0, 0.2
    stop.append("b")
    assert given == before
    prompt, config = array("i", [1, 2]), {"of": [{"ngram": 1}]}
    request = Request(prompt, {}, config)
    prompt[0], config["of"][0]["ngram"] = 2, 2
    assert (list(request.prompt), request.speculative) == ([1, 2], {"of": [{"ngram": 1}]})


@pytest.mark.parametrize("change", [
    {"prompt": [1, 2]}, {"prompt": "123"}, {"params": {"seed": 2}}, {"speculative": False}, {"key": np.array([1])},
    {"observer": print},
])  # fmt: skip
def test_requests_that_differ(change) -> None:
    given = {"prompt": np.array([1, 2, 3]), "params": {"seed": 1}, "speculative": "ngram", "key": np.array([2])}
    one, other = Request(**given), Request(**{**given, **change})
    assert one != other
    assert one == Request(**given)
    assert len({one, other}) == 2
    assert one != "123"


def test_values_that_have_no_hash() -> None:
    assert {Request("the", {"stop": {"a"}}, key=[{1}])} == {Request("the", {"stop": {"a"}}, key=[{1}])}
    assert Request("the", {"stop": {"a"}}) != Request("the", {"stop": {"b"}})


def test_results_are_their_values() -> None:
    with load("tabular") as model:
        result, other = (model.generate("the cat", seed=seed, max_tokens=4, logprobs=2) for seed in (1, 2))
        lossy = model.generate("the", max_tokens=2, speculative={"rejection_sample_method": "lenient",
                               "allow_lossy": True})  # fmt: skip
    assert result.explanation is not None
    assert {result: "one", other: "other", lossy: "lossy"}[result] == "one"
    assert hash(Loss("lenient", {"a": 1.0}, 1, None, "")) == hash(Loss("lenient", {"a": 1.0}, 1, None, ""))
