from hashlib import sha256

import pytest

from truedraw.errors import BadParameter
from truedraw.generate.derived_seeds import derived_seed, seed_after


def test_the_documented_recipe():
    assert derived_seed(7, 3) == int(sha256(b"7:3").hexdigest()[:16], 16) == 0x111C309FC0CFD2B7
    assert derived_seed(7, 0, "temperature=0.7", 2) == int(sha256(b"7:0:temperature=0.7:2").hexdigest()[:16], 16)


def test_every_name_has_its_own():
    assert len({derived_seed(seed, line) for seed in range(30) for line in range(1, 31)}) == 900
    assert derived_seed(1, 11) != derived_seed(11, 1)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True])
def test_a_seed_out_of_range(seed):
    with pytest.raises(BadParameter, match="seed"):
        derived_seed(seed, 1)
    with pytest.raises(BadParameter, match="seed"):
        seed_after(seed, 1)


def test_behind_the_last_one_comes_0():
    assert [seed_after(seed, 3) for seed in (0, 2**64 - 4, 2**64 - 1)] == [3, 2**64 - 1, 2]
