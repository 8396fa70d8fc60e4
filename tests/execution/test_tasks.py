"""What tasks hand over: datasets as arrays that a store keeps, and back."""

import numpy as np
import xarray as xr

from sharpbayes.execution.tasks import from_arrays, to_arrays


def test_a_dataset_comes_back_as_it_was():
    data = xr.Dataset(
        {
            "one": 3,
            "two": (("a", "b"), np.arange(6.0).reshape(3, 2).T.copy().T),
            "text": ("a", ["x", "y", "zz"]),
        },
        {"a": ["p", "q", "r"]},
        {"level": 0.9},
    )
    arrays = to_arrays(data)
    xr.testing.assert_identical(from_arrays(arrays), data)
    assert all(array.flags.c_contiguous for array in arrays.values())
