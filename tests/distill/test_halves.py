"""Numbers of features and of folders: float16, whatever comes, and what they are once they are read."""

import numpy as np

from truedraw.distill.halves import LARGEST, as_run, halved


def test_what_is_too_large_is_the_largest_number() -> None:
    found = halved(np.array([1e6, -1e6, 65520.0, 0.1, np.inf], np.float32))
    assert found.dtype == np.float16
    assert found.tolist() == [LARGEST, -LARGEST, LARGEST, float(np.float16(0.1)), LARGEST]


def test_a_draft_is_measured_with_the_numbers_that_its_folder_has() -> None:
    """A matrix in int8, a scale a row; a vector as it is; neither infinite where the folder is not."""
    found = as_run({"matrix": np.array([[1e6, 0.0], [0.1, -1.0]], np.float32), "gain": np.array([0.1, -1e6])})
    assert found["matrix"][0].tolist() == [LARGEST, 0.0]
    assert np.abs(found["matrix"][1] - [0.1, -1.0]).max() <= 0.5 / 127 + 1e-6
    assert found["gain"].tolist() == [float(np.float16(0.1)), -LARGEST]
