"""The environment: parameters as numbers and as symbols."""

from __future__ import annotations

import casadi as ca
import pytest

from pliant.language import dimension as dim
from pliant.language.faults import SpecError
from pliant.language.parameter import Environment
from pliant.robot import flatten, load_text

TEXT = """\
pliant: 1
parameters:
  area: =width*height
  width: 2 cm
  height: {value: =width/2}
  factor: 3
  force: {value: 5 N, input: true}
bodies: {rod: {mass: =factor}}
joints: {slide: {type: prismatic, child: rod, displacement: {input: =force*factor, spring: =force/width}}}
"""
SOUND = TEXT.replace(", spring: =force/width", "")


def test_values_and_kinds_of_parameters() -> None:
    environment = Environment(flatten(load_text(SOUND)).parameters)
    assert environment.names == ("area", "width", "height", "factor", "force")
    assert environment.independent == ("width", "factor")
    assert environment.inputs == ("force",)
    assert environment.values == pytest.approx({"area": 2e-4, "width": 0.02, "height": 0.01, "factor": 3, "force": 5})
    assert environment.dimension("area") == dim.AREA
    assert environment.dimension("factor") is None
    assert environment.value("=area/width") == pytest.approx(0.01)
    assert environment.signal("=force*t", 2.0) == 10.0
    assert environment.uses("=area + t") == {"area", "width", "height", "t"}


def test_symbols_take_the_place_of_numbers() -> None:
    width, t = ca.SX.sym("width"), ca.SX.sym("t")
    environment = Environment(flatten(load_text(SOUND)).parameters).with_values({"width": width})
    area = ca.Function("f", [width], [environment.value("=area")])
    assert float(area(0.4)) == pytest.approx(0.08)
    signal = ca.Function("g", [width, t], [environment.signal("=if(t < 1 s, area, force)", t)])
    assert float(signal(0.4, 0.5)) == pytest.approx(0.08)
    assert float(signal(0.4, 1.5)) == 5.0
    assert environment.value(3) == 3.0


def test_only_independent_parameters_take_values() -> None:
    environment = Environment(flatten(load_text(SOUND)).parameters)
    with pytest.raises(SpecError, match="'area' is computed from others"):
        environment.with_values({"area": 1.0})
    with pytest.raises(SpecError, match="unknown parameter 'depth'"):
        environment.with_values({"depth": 1.0})


def test_inputs_are_kept_out_of_constants() -> None:
    with pytest.raises(SpecError, match=r"`coefficient` cannot vary in time.*'force'"):
        load_text(TEXT)
    with pytest.raises(SpecError, match="'area' is constant but uses the input parameter 'force'"):
        load_text(SOUND.replace("=width*height", "=force"))
