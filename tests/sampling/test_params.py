"""Bad parameters: one error each, that names the parameter, says what was given and what is allowed."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields, replace
from types import MappingProxyType

import numpy as np
import pytest

from truedraw.errors import BadParameter
from truedraw.sampling.law import SamplingLaw
from truedraw.sampling.params import SamplingParams, sampling_params
from truedraw.sampling.randomness import PhiloxRandomness
from truedraw.sampling.step import Opening, at
from truedraw.sampling.their_names import OURS

BAD = [
    ("temperature", -0.1), ("temperature", math.nan), ("temperature", math.inf), ("temperature", "hot"),
    ("temperature", True), ("top_k", -2), ("top_k", 1.5), ("top_p", 0), ("top_p", 1.1), ("top_p", math.nan),
    ("min_p", -0.1), ("min_p", 2), ("typical_p", 0.0), ("n", 0), ("max_tokens", 0), ("stop", ("",)), ("stop", (3,)),
    ("stop_token_ids", (-1,)), ("ignore_eos", "yes"), ("seed", -5), ("seed", 2**64), ("stop", 5),
    ("stop_token_ids", "1"),
    ("repetition_penalty", 0), ("repetition_penalty", 101), ("presence_penalty", 2.1), ("frequency_penalty", math.nan),
    ("no_repeat_ngram", -1), ("no_repeat_ngram", 2.5), ("logit_bias", [1, 2]), ("logit_bias", {"a": 1}),
    ("logit_bias", {-1: 1}), ("logit_bias", {1: math.inf}), ("logit_bias", {1: "2"}), ("bad_words", "word"),
    ("bad_words", bytearray(b"no")), ("stop_token_ids", memoryview(b"no")),
    ("bad_words", [""]), ("bad_words", [" "]), ("bad_words", [[]]), ("bad_words", [[-1]]), ("bad_words", [3]),
    ("allowed_token_ids", []), ("allowed_token_ids", [1.5]), ("min_tokens", -1), ("min_tokens", 257),
    ("epsilon_cutoff", 1.1), ("eta_cutoff", -0.1), ("top_n_sigma", -0.5), ("xtc_probability", 1.01),
    ("temperature", 1.1e6), ("dynatemp_range", 1e300), ("xtc_threshold", 1e-310),
    ("xtc_threshold", 0), ("xtc_threshold", 0.3), ("dynatemp_range", -1), ("dynatemp_exponent", 0),
    ("dynatemp_exponent", 2), ("mirostat", 1), ("mirostat", True), ("mirostat", "2"), ("mirostat_tau", 0),
    ("mirostat_tau", 3), ("mirostat_eta", 0.2), ("schedule", [1]), ("schedule", {"n": [[0, 1]]}),
    ("schedule", {"temperature": []}), ("schedule", {"temperature": 1}), ("schedule", {"temperature": [[0]]}),
    ("schedule", {"temperature": [[0, -1]]}), ("schedule", {"temperature": [[5, 1], [5, 2]]}),
    ("schedule", {"top_k": [[0, 0]]}), ("schedule", {"temperature": [[-1, 1]]}), ("sampler_order", "alphabetical"),
    ("schedule", {"top_n_sigma": [[0, 0], [5, 2]]}),
    ("sampler_order", ["top_kk"]), ("sampler_order", ["top_k", "top_k"]), ("sampler_order", ["top_k", "penalties"]),
    ("sampler_order", 7), ("stop", "\udcff"), ("stop", ["fine", "a\ud800b"]), ("bad_words", ["\udcff"]),
    ("regex", "\udcff"), ("grammar", 'start: "\udcff"'), ("schedule", {"top_k": [[0, 1], [9, 10**200]]}),
    ("schedule", {"temperature": [[0, 1], [10**200, 1]]}), ("logprobs", -1), ("logprobs", 21), ("logprobs", 2.0),
    ("logprobs", True), ("logprobs", math.nan), ("logprobs", "5"), ("logprobs", [1]), ("logprobs", 10**300),
    ("schedule", {"logprobs": [[0, 1]]}), ("stop", {"sat": 1}), ("bad_words", {"sat": 1}), ("logit_bias", False),
    ("logit_bias", 0), ("logit_bias", []), ("schedule", 0), ("schedule", False), ("sampler_order", {"top_k": 1}),
    ("allowed_token_ids", {1: 2}),
]  # fmt: skip

CONTRADICTIONS = [
    ("min_tokens", {"min_tokens": 9, "max_tokens": 8}),
    ("top_p", {"mirostat": 2, "top_p": 0.9}),
    ("xtc_probability", {"mirostat": 2, "xtc_probability": 0.1}),
    ("min_p", {"mirostat": 2, "schedule": {"min_p": [[0, 0.1]]}}),
    ("temperature", {"temperature": 0.5, "schedule": {"temperature": [[0, 1]]}}),
    ("sampler_order", {"sampler_order": ["top_k"], "temperature": 0.5}),
    ("sampler_order", {"sampler_order": ["top_k"], "schedule": {"top_p": [[0, 0.5]]}}),
    ("sampler_order", {"sampler_order": ["mirostat", "temperature"], "mirostat": 2}),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_out_of_range(name, value) -> None:
    with pytest.raises(BadParameter, match=name) as caught:
        SamplingParams(**{name: value})
    assert caught.value.parameter == name


def test_an_unknown_parameter_is_an_error_that_lists_the_valid_ones() -> None:
    with pytest.raises(BadParameter, match=r"temprature.*temperature") as caught:
        sampling_params({"temprature": 1})
    assert caught.value.parameter == "temprature"


def test_an_error_in_a_models_defaults_says_whose_they_are() -> None:
    with pytest.raises(BadParameter, match=r"top_k: got 50\.0; .*the value is the model's own, of its generation_con"):
        sampling_params({"temperature": 0.7}, {"top_k": 50.0})
    with pytest.raises(BadParameter, match=r"top_k: got 51\.0; [^(]*$"):
        sampling_params({"top_k": 51.0}, {"top_k": 50.0})
    assert sampling_params({"top_k": 5}, {"top_k": 50.0}).top_k == 5


def test_the_request_comes_before_the_models_defaults() -> None:
    defaults = {"temperature": 0.2, "top_p": 0.9, "transformers_version": "5"}
    params = sampling_params({"temperature": 0.7, "top_k": None}, defaults)
    assert (params.temperature, params.top_p, params.top_k) == (0.7, 0.9, 0)


def test_one_stop_string_may_stand_alone() -> None:
    assert SamplingParams(stop="END").stop == ("END",)


@pytest.mark.parametrize(("name", "given"), CONTRADICTIONS)
def test_what_cannot_stand_together_is_refused_by_name(name, given) -> None:
    with pytest.raises(BadParameter, match=name) as caught:
        SamplingParams(**given)
    assert caught.value.parameter == name


def test_a_model_default_gives_way_to_what_contradicts_it() -> None:
    defaults = {"temperature": 0.6, "top_p": 0.9, "top_k": 40, "repetition_penalty": 1.1, "no_repeat_ngram_size": 4}
    steered = sampling_params({"mirostat": 2}, defaults)
    assert (steered.temperature, steered.top_p, steered.top_k) == (0.6, 1.0, 0)
    cooling = sampling_params({"schedule": {"temperature": [[0, 1.2], [9, 0.7]]}}, defaults)
    assert (cooling.temperature, cooling.top_p) == (1.0, 0.9)
    ordered = sampling_params({"sampler_order": ["top_k", "temperature"]}, defaults)
    assert (ordered.temperature, ordered.top_p, ordered.top_k, ordered.repetition_penalty) == (0.6, 1.0, 40, 1.1)
    assert ordered.no_repeat_ngram == 4


def test_the_other_name_of_a_parameter_is_known_and_both_at_once_are_refused() -> None:
    assert sampling_params({"no_repeat_ngram_size": 3}).no_repeat_ngram == 3
    with pytest.raises(BadParameter, match="twice"):
        sampling_params({"no_repeat_ngram_size": 3, "no_repeat_ngram": 3})


def test_lists_and_json_keys_are_taken_as_they_come() -> None:
    params = SamplingParams(
        logit_bias={"12": -100, 3: 1}, bad_words=["no", [4, 5]], allowed_token_ids=[3, 12], sampler_order=["penalties"],
    )  # fmt: skip
    assert params.logit_bias == {12: -100.0, 3: 1.0}
    assert params.bad_words == ("no", (4, 5))
    assert params.allowed_token_ids == (3, 12)
    assert replace(params, seed=1) == replace(params, seed=1)
    assert hash(params) == hash(replace(params))
    assert json.loads(json.dumps(asdict(params)))["bad_words"] == ["no", [4, 5]]
    assert SamplingParams(logit_bias=None, bad_words=None, schedule=None) == SamplingParams()


@pytest.mark.parametrize(
    ("generated", "value"), [(0, 1.2), (2, 1.2), (4, 1.2), (5, 1.0), (7, 0.6), (10, 0.9), (99, 0.9)]
)
def test_a_schedule_is_straight_between_its_points(generated, value) -> None:
    assert at(((4, 1.2), (7, 0.6), (10, 0.9)), generated) == pytest.approx(value)


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize(
    "given",
    [lambda x: {"temperature": x}, lambda x: {"seed": x}, lambda x: {"n": x}, lambda x: {"min_tokens": x},
     lambda x: {"top_p": x}, lambda x: {"logit_bias": {0: x}}, lambda x: {"logit_bias": {"9" * 5000: 1}},
     lambda x: {"mirostat": x}, lambda x: {"schedule": {"temperature": [[0, x]]}}, lambda x: {"stop": x}],
)  # fmt: skip
def test_numbers_without_end_are_refused_in_few_words(given, digits) -> None:
    with pytest.raises(BadParameter) as error:
        SamplingParams(**given(10**digits))
    assert len(str(error.value)) < 250


@pytest.mark.parametrize("k", [6, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, 10**400])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("more", [{}, {"top_p": 0.9}, {"repetition_penalty": 1.1}])
def test_a_top_k_beyond_the_vocabulary_keeps_all(k, dtype, more) -> None:
    logits = np.log(np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05])).astype(dtype)
    opening = Opening(prompt=(1, 2), vocab_size=6)
    found = SamplingLaw(SamplingParams(top_k=k, **more), opening)(logits)
    assert np.array_equal(found, SamplingLaw(SamplingParams(top_k=6, **more), opening)(logits))


def test_a_schedule_may_reach_beyond_the_vocabulary() -> None:
    law = SamplingLaw(SamplingParams(schedule={"top_k": [[0, 1], [4, 10**30]]}), Opening(prompt=(1,), vocab_size=6))
    logits = np.zeros(6, np.float32)
    assert np.count_nonzero(law(logits)) == 1
    assert np.count_nonzero(law.after(3)(logits)) == 6


def test_numbers_and_arrays_of_numpy_are_pythons_own() -> None:
    ours = {"top_k": 3, "temperature": 0.5, "seed": 2**40, "n": 2, "ignore_eos": True, "logprobs": 4,
            "allowed_token_ids": [0, 2], "stop_token_ids": [5], "bad_words": [[1, 2], "no"], "logit_bias": {1: 0.5},
            "schedule": {"top_p": [[0, 1.0], [5, 0.5]]}}  # fmt: skip
    theirs = {"top_k": np.int64(3), "temperature": np.float32(0.5), "seed": np.uint64(2**40), "n": np.int8(2),
              "ignore_eos": np.True_, "logprobs": np.array(4), "allowed_token_ids": np.array([0, 2]),
              "stop_token_ids": (np.int32(5),), "bad_words": [np.array([1, 2]), np.str_("no")],
              "logit_bias": {np.int64(1): np.float64(0.5)},
              "schedule": {"top_p": [[np.int64(0), 1.0], [5, 0.5]]}}  # fmt: skip
    found = SamplingParams(**theirs)
    assert found == SamplingParams(**ours)
    assert json.dumps(asdict(found)) == json.dumps(asdict(SamplingParams(**ours)))


@pytest.mark.parametrize(("name", "value"), [
    ("top_k", np.float64(2.5)), ("temperature", np.float32("nan")), ("n", np.array([1, 2])), ("seed", np.int64(-1)),
    ("top_k", np.True_), ("max_tokens", np.float32(5)),
])  # fmt: skip
def test_what_is_no_number_in_python_is_none_in_numpy(name, value) -> None:
    with pytest.raises(BadParameter, match=name):
        SamplingParams(**{name: value})


def test_mappings_of_other_kinds_and_long_numbers_are_taken() -> None:
    given = SamplingParams(logit_bias=MappingProxyType({np.int64(1): np.float32(2)}), top_p=np.longdouble(0.5))
    assert (given.logit_bias, given.top_p) == ({1: 2.0}, 0.5)
    assert SamplingParams(schedule=MappingProxyType({"top_p": [[0, 0.5]]})).schedule == {"top_p": ((0, 0.5),)}


@pytest.mark.parametrize("name", ["stop", "sampler_order", "allowed_token_ids", "bad_words"])
def test_a_list_that_holds_itself_is_refused(name: str) -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(BadParameter, match=name):
        SamplingParams(**{name: endless})
    with pytest.raises(BadParameter, match="schedule"):
        SamplingParams(schedule={"top_p": endless})


def test_a_set_is_refused_where_the_order_matters() -> None:
    with pytest.raises(BadParameter, match="sampler_order"):
        SamplingParams(sampler_order={"temperature", "top_p"})
    with pytest.raises(BadParameter, match="bad_words"):
        SamplingParams(bad_words=[{1, 2}])
    assert sorted(SamplingParams(allowed_token_ids={1, 2}).allowed_token_ids) == [1, 2]


def test_the_hottest_temperature_still_orders_logits() -> None:
    logits = np.random.default_rng(0).permutation(1000).astype(np.float32)
    law = SamplingLaw(SamplingParams(temperature=1e6, top_k=50))
    assert set(np.flatnonzero(law(logits))) == set(np.argsort(-logits)[:50])
    both = SamplingLaw(SamplingParams(temperature=1e6, dynatemp_range=1e6))
    assert np.isfinite(both(logits)).all()


def test_the_smallest_threshold_of_xtc_leaves_a_law() -> None:
    opening = Opening((0,), 4, (), PhiloxRandomness(1))
    law = SamplingLaw(SamplingParams(xtc_probability=1.0, xtc_threshold=1e-300), opening)
    found = law(np.array([0, -600, -680, -689], np.float32))
    assert found.sum() == pytest.approx(1.0)
    assert np.count_nonzero(found) == 1


@pytest.mark.parametrize("name", ["top_p", "typical_p"])
def test_a_schedule_that_comes_to_what_is_off_cuts_nothing_there(name: str) -> None:
    logits = np.concatenate([[50.0], np.random.default_rng(0).normal(0, 0.1, 5000)]).astype(np.float32)
    order = SamplingParams(temperature=6.0, sampler_order="llama.cpp")
    scheduled = SamplingParams(temperature=6.0, sampler_order="llama.cpp", schedule={name: [[0, 1.0], [100, 0.9]]})
    opening = Opening((0,), len(logits), ())
    assert np.array_equal(SamplingLaw(scheduled, opening)(logits), SamplingLaw(order, opening)(logits))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("max_completion_tokens", "max_tokens"),
        ("stop_strings", "stop"),
        ("temp", "temperature"),
        ("mirostat_lr", "mirostat_eta"),
        ("suppress_tokens", "bad_words"),
        ("num_return_sequences", "n"),
        ("assistant_model", "speculative"),
        ("top_logprobs", "logprobs"),
    ],
)
def test_who_knows_a_parameter_by_the_name_of_another_program_is_told_ours(theirs, ours):
    with pytest.raises(BadParameter, match=rf"^{theirs}: no such sampling parameter \(did you mean {ours}\?\); valid "):
        sampling_params({theirs: 1})


def test_names_of_others_are_none_of_ours():
    ours = {each.name for each in fields(SamplingParams)}
    assert not ours & OURS.keys()
    assert {*OURS.values()} <= ours | {"speculative", "prompt"}
