"""Arrays with labels, and the dataset they become."""

import numpy as np
import pytest

from pliant.analysis.numerics.labelled_arrays import LabelledArrays, named_axes

VALUES = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def data():
    axes = {
        "time": (("time",), np.array([0.0, 0.5]), {"units": "s"}),
        **named_axes({"part": ("a", "b", "c"), "none": ()}),
    }
    return LabelledArrays.of_arrays(
        {"x": (("time", "part"), VALUES, {"units": "m"}), "y": (("none",), np.zeros(0), {})}, axes, {"n": 2}
    )


def test_values_labels_and_units_are_read_by_name(data):
    assert np.shares_memory(data["x"], VALUES)
    assert data.names("part") == ("a", "b", "c")
    assert (data.unit("x"), data.unit("y")) == ("m", "")
    assert "x" in data
    assert "time" in data
    assert "z" not in data
    assert list(data) == ["x", "y"]


def test_the_dataset_has_the_same_and_shares_the_arrays(data):
    dataset = data.dataset
    assert dataset is data.dataset
    assert np.shares_memory(dataset["x"].values, VALUES)
    assert dataset["x"].sel(part="b", time=0.5).item() == VALUES[1, 1]
    assert dataset["time"].attrs == {"units": "s"}
    assert (dataset.attrs, dataset.sizes["none"]) == ({"n": 2}, 0)


def test_a_dataset_is_read_back_and_handed_out_again(data):
    dataset = data.dataset
    again = LabelledArrays.of(dataset)
    assert again.dataset is dataset
    assert np.array_equal(again["x"], VALUES)
    assert again.names("part") == data.names("part")
    assert (again.unit("x"), again.attributes) == ("m", {"n": 2})
