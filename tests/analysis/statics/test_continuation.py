"""Static paths against snap-through, buckling and post-buckling known in closed form."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipk

from pliant import continuation, derive, equilibrium, load_result, load_text

TRUSS = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {load: 0 N, rise: 0.2 m, stiffness: 1 kN/m, pull: {value: 0 N, input: true}}
defaults: {links: {spring: {coefficient: =stiffness, rest: as at start}}}
bodies: {node: {mass: 1 kg, shape: {type: sphere, radius: 1 cm}}}
joints:
  JOINT
links:
  left: {type: axial, between: [{frame: world, position: [-1 m, 0, 0]}, node]}
  right: {type: axial, between: [{frame: world, position: [1 m, 0, 0]}, node]}
loads:
  push: {frame: node, force: [0, 0, =-load-pull]}
outputs:
  height: {frame: node, component: z}
"""
GUIDED = "slide: {type: prismatic, child: node, axis: z, position: [0, 0, =rise]}"
SWAYING = """across: {type: prismatic, child: sledge, axis: x, position: [0, 0, =rise]}
  slide: {type: prismatic, parent: sledge, child: node, axis: z}"""

COLUMN = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {load: 0 N}
defaults:
  bodies:
    mass: 1 kg
    center_of_mass: [0, 0, 0.25 m]
    shape: {type: slender_rod, length: 0.5 m, axis: z}
    frames: {tip: {position: [0, 0, 0.5 m]}}
bodies: {a: {}, b: {}}
joints:
  lower: {type: revolute, axis: y, child: a, angle: {spring: 2 N*m}}
  upper: {type: revolute, axis: y, parent: a.tip, child: b, angle: {spring: 2 N*m}}
loads:
  push: {frame: b.tip, force: [0, 0, =-load]}
outputs:
  side: {frame: b.tip, component: x}
"""


@pytest.fixture(scope="module")
def truss():
    return derive(load_text(TRUSS.replace("JOINT", GUIDED)))


@pytest.fixture(scope="module")
def column():
    return derive(load_text(COLUMN))


def truss_load(height, rise=0.2):
    """Load on the apex of a shallow two-bar truss of half-span 1 m and stiffness 1 kN/m at a height [N]."""
    return 2000.0 * (np.hypot(1, rise) / np.hypot(1, height) - 1) * height


@pytest.mark.parametrize("name", ["load", "pull"], ids=["parameter", "input"])
def test_a_truss_snaps_through_at_its_exact_limit_loads(truss, name):
    path = continuation(truss, parameter=name, to=6.0)
    assert path.status == "completed"
    assert path.value[-1] == 6.0
    # dP/dy = 0 where the bars have the length (L0 a^2)^(1/3)
    length = np.hypot(1, 0.2) ** (1 / 3)
    limit = truss_load(np.sqrt(length**2 - 1))
    assert [s.kind for s in path.special] == ["limit", "limit"]
    assert [s.value for s in path.special] == pytest.approx([limit, -limit], rel=1e-10)
    assert [s.moves for s in path.special] == [("slide",), ("slide",)]
    np.testing.assert_allclose(path.value, truss_load(path["height"]), atol=1e-10)
    # stable up to the first limit point and beyond the second, unstable in one direction between
    first, second = (s.index for s in path.special)
    assert set(path.unstable[:first]) == {0}
    assert set(path.unstable[first + 1 : second]) == {1}
    assert set(path.unstable[second + 1 :]) == {0}
    assert path.stable[0]
    assert not path.stable[first + 1]


def test_a_steep_truss_sways_before_it_snaps():
    rise = 3.0
    text = TRUSS.replace("JOINT", SWAYING).replace("rise: 0.2 m", "rise: 3 m")
    eqs = derive(load_text(text.replace("bodies: {", "bodies: {sledge: {mass: 1 kg}, ")))
    path = continuation(eqs, parameter="load", to=3000.0, max_points=60)
    # sideways stiffness 2k (1 - L0 y^2 / L^3) vanishes
    height = brentq(lambda y: 1 - np.hypot(1, rise) * y**2 / np.hypot(1, y) ** 3, 2.0, 3.0)
    first = path.special[0]
    assert first.kind == "bifurcation"
    assert first.value == pytest.approx(truss_load(height, rise), rel=1e-9)
    assert first.moves == ("across",)
    limit = (np.hypot(1, rise)) ** (1 / 3)
    assert path.special[1].kind == "limit"
    assert path.special[1].value == pytest.approx(truss_load(np.sqrt(limit**2 - 1), rise), rel=1e-9)
    sides = [continuation(eqs, parameter="load", to=3000.0, branch=s, max_points=25) for s in (1, -1)]
    assert sides[0]["across"][-1] > 0.05
    np.testing.assert_allclose(sides[0]["across"], -sides[1]["across"], atol=1e-9)
    np.testing.assert_allclose(sides[0].value, sides[1].value, rtol=1e-9)


def test_a_column_of_links_buckles_at_its_exact_loads(column):
    path = continuation(column, parameter="load", to=15.0)
    exact = np.array([3 - np.sqrt(5), 3 + np.sqrt(5)]) / 2 * 2.0 / 0.5
    assert [s.kind for s in path.special] == ["bifurcation", "bifurcation"]
    assert [s.value for s in path.special] == pytest.approx(exact, rel=1e-8)
    # absolute angles of the first mode: (1, golden ratio)
    first = path.special[0].directions[0]
    assert first[1] / first[0] == pytest.approx((np.sqrt(5) - 1) / 2, rel=1e-6)
    assert path.unstable[-1] == 2
    assert np.abs(path.q).max() < 1e-9
    assert "unstable in 2 directions" in path.message


@pytest.mark.parametrize(("mode", "unstable"), [(1, 0), (2, 1)])
def test_buckled_columns_follow_their_exact_paths_on_both_sides(column, mode, unstable):
    paths = [continuation(column, parameter="load", to=15.0, branch=s, mode=mode) for s in (1, -1)]
    for path in paths:
        assert path.status == "completed"
        low, high = path["lower"], path["lower"] + path["upper"]
        torque = 0.5 * path.value
        np.testing.assert_allclose(2 * low - 2 * (high - low), torque * np.sin(low), atol=1e-9)
        np.testing.assert_allclose(2 * (high - low), torque * np.sin(high), atol=1e-9)
        assert path.unstable[-1] == unstable
    np.testing.assert_allclose(paths[0]["side"][-1], -paths[1]["side"][-1], rtol=1e-9)
    assert paths[0]["lower"][-1] > 0.1


def test_an_imperfection_decides_the_side_without_a_bifurcation(column):
    perfect = continuation(column, parameter="load", to=6.0, branch=-1, by="side")
    for force, sign in ((1e-4, 1), (-1e-4, -1)):
        path = continuation(column, parameter="load", to=6.0, imperfection={"lower": force})
        assert path.status == "completed"
        assert path.special == ()
        assert path.stable.all()
        assert path["side"][-1] == pytest.approx(-sign * perfect["side"][-1], rel=1e-3)


def test_a_path_ends_where_an_output_reaches_its_bound(column):
    path = continuation(column, parameter="load", to=6.0, imperfection={"lower": 1e-3}, stop={"side": 0.2})
    assert path.status == "stopped"
    assert path["side"][-1] == pytest.approx(0.2, abs=1e-8)
    assert "'side' reached 0.2" in path.message


def test_components_of_vector_outputs_end_paths_and_are_read_from_them(tmp_path):
    eqs = derive(load_text(COLUMN + "  tip: {frame: b.tip}\n"))
    path = continuation(eqs, parameter="load", to=6.0, imperfection={"lower": 1e-3}, stop={"tip.x": 0.2})
    assert path["tip.x"][-1] == pytest.approx(0.2, abs=1e-8)
    assert "'tip.x' reached 0.2" in path.message
    assert path.unit("tip.x") == "m"
    path.save(tmp_path / "path.nc")
    np.testing.assert_array_equal(load_result(tmp_path / "path.nc")["tip.z"], path["tip"][:, 2])
    with pytest.raises(ValueError, match=r"the output 'tip' is a vector; name one of its components, such as tip\.x"):
        continuation(eqs, parameter="load", to=6.0, stop={"tip": 0.2})


TOGGLE = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {load: 0 N}
defaults:
  bodies:
    mass: 1 kg
    center_of_mass: [0.5 m, 0, 0]
    shape: {type: slender_rod, length: 1 m, axis: x}
    frames: {tip: {position: [1 m, 0, 0]}}
bodies: {a: {}, b: {}}
joints:
  left: {type: revolute, axis: y, child: a, angle: {initial: -20 deg}}
  apex: {type: revolute, axis: y, parent: a.tip, child: b, angle: {initial: 40 deg}}
links:
  spring: {type: axial, between: [world, b.tip], spring: {coefficient: 500 N/m, rest: as at start}}
constraints:
  rail: {between: [world, b.tip], components: z}
loads:
  push: {frame: a.tip, force: [0, 0, =-load]}
outputs:
  support: {constraint: rail, component: z}
"""


def test_a_closed_loop_snaps_through_with_its_support_force():
    path = continuation(derive(load_text(TOGGLE)), parameter="load", to=60.0)
    assert path.status == "completed"
    angle = -path["left"]
    span = 2 * (np.cos(angle) - np.cos(np.radians(20)))
    np.testing.assert_allclose(path.value, 2 * 500 * span * np.tan(angle), atol=1e-8)
    # dP/d(angle) = 0 where cos^3 = cos of the start; half of the load rests on the slider
    cosine = np.cos(np.radians(20)) ** (1 / 3)
    limit = 4 * 500 * (cosine - cosine**3) * np.sqrt(1 / cosine**2 - 1)
    assert [s.value for s in path.special] == pytest.approx([limit, -limit], rel=1e-9)
    np.testing.assert_allclose(path["support"], path.value / 2, atol=1e-8)


SPHERICAL = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {load: 0 N}
bodies:
  mast:
    mass: 1 kg
    center_of_mass: [0, 0, 0.5 m]
    shape: {type: cylinder, radius: 2 cm, length: 1 m, axis: z}
    frames: {tip: {position: [0, 0, 1 m]}}
joints:
  foot: {type: spherical, child: mast, orientation: {spring: 3 N*m}}
loads:
  push: {frame: mast.tip, force: [0, 0, =-load]}
outputs:
  height: {frame: mast.tip, component: z}
"""


def test_a_mast_on_a_ball_joint_loses_two_directions_at_once():
    eqs = derive(load_text(SPHERICAL))
    path = continuation(eqs, parameter="load", to=5.0)
    assert len(path.special) == 1
    assert path.special[0].value == pytest.approx(3.0, rel=1e-8)
    assert path.special[0].directions.shape == (2, 3)
    assert path.unstable[-1] == 2
    buckled = continuation(eqs, parameter="load", to=5.0, branch=1)
    assert buckled.status == "completed"
    tilt = np.arccos(np.clip(buckled["height"], -1, 1))
    bent = tilt > 0.05
    np.testing.assert_allclose(buckled.value[bent] * np.sin(tilt[bent]), 3 * tilt[bent], rtol=1e-7)
    assert tilt[-1] > 1.0
    assert np.allclose(np.linalg.norm(buckled.q, axis=1), 1.0, atol=1e-12)


def test_a_path_goes_on_from_any_point_and_back(column, tmp_path):
    whole = continuation(column, parameter="load", to=15.0, branch=1)
    whole.save(tmp_path / "path.nc")
    saved = load_result(tmp_path / "path.nc")
    assert saved.status == whole.status
    assert saved.special[0].value == whole.special[0].value
    np.testing.assert_array_equal(saved["side"], whole["side"])
    middle = len(whole) // 2
    on = continuation(column, parameter="load", to=15.0, start=saved.point(middle))
    np.testing.assert_allclose(on.q[-1], whole.q[-1], atol=1e-9)
    assert on.value[0] == pytest.approx(whole.value[middle], rel=1e-9)
    back = continuation(column, parameter="load", to=2.0, start=saved.point(middle), reverse=True)
    assert back.status == "completed"
    other = continuation(column, parameter="load", to=15.0, start=saved.point(saved.special[0].index), branch=-1)
    np.testing.assert_allclose(other["side"][-1], -whole["side"][-1], rtol=1e-9)
    with pytest.raises(IndexError, match="none of number"):
        saved.point(len(saved))


def test_a_point_of_a_path_is_an_equilibrium(column):
    path = continuation(column, parameter="load", to=6.0, branch=1)
    point = path.point(-1)
    found = equilibrium(column, start=point.state, parameters={"load": point.value})
    assert found.stable is True
    assert point.stable is True
    np.testing.assert_allclose(found.q, point.state.q, atol=1e-8)


ROD = """
pliant: 1
world: {gravity: [0, 0, 0]}
parameters: {load: 0 N}
sections: {strip: {shape: rectangle, width: 20 mm, height: 1 mm}}
materials: {steel: {density: 7800 kg/m^3, youngs_modulus: 200 GPa, poissons_ratio: 0.3}}
rods:
  rod: {length: 0.5 m, section: strip, material: steel, strains: planar_yz, model: {kind: finite_element, elements: 6}}
loads:
  push: {frame: rod.tip, force: [0, 0, =-load]}
outputs:
  side: {frame: rod.tip, component: y}
  height: {frame: rod.tip, component: z}
"""


def test_a_cantilever_rod_buckles_into_the_elastica():
    bending = 200e9 * 0.02 * 0.001**3 / 12
    critical = np.pi**2 * bending / (4 * 0.5**2)
    # load at which the tip has turned by 100 degrees
    goal = critical * (2 / np.pi * ellipk(np.sin(np.radians(50)) ** 2)) ** 2
    path = continuation(derive(load_text(ROD)), parameter="load", to=goal, branch=1, by="side")
    assert path.status == "completed"
    assert path.special[0].value == pytest.approx(critical, rel=1e-4)
    assert path.stable[-1]
    assert path["side"][-1] > 0
    assert -path["rod.section[6].angle"][-1] == pytest.approx(np.radians(100), rel=1e-3)


def test_faults_are_said_clearly(truss, column):
    with pytest.raises(ValueError, match="did you mean 'load'"):
        continuation(truss, parameter="loda", to=1.0)
    with pytest.raises(ValueError, match="already"):
        continuation(truss, parameter="load", to=0.0)
    with pytest.raises(ValueError, match="finite"):
        continuation(truss, parameter="load", to=np.inf)
    with pytest.raises(ValueError, match="branch: "):
        continuation(truss, parameter="load", to=1.0, branch=0)
    with pytest.raises(ValueError, match="output or coordinate"):
        continuation(truss, parameter="load", to=1.0, stop={"heigth": 0.1})
    with pytest.raises(ValueError, match="rate"):
        continuation(truss, parameter="load", to=1.0, imperfection={"sldie": 0.1})
    few = continuation(truss, parameter="load", to=6.0, max_points=5)
    assert few.status == "stopped"
    assert "max_points" in few.message
    none = continuation(column, parameter="load", to=1.0, branch=1)
    assert "no bifurcation" in none.message


def test_a_robot_without_rest_has_no_path():
    stone = """
pliant: 1
parameters: {mass: 1 kg}
bodies: {stone: {mass: =mass}}
joints: {fall: {type: prismatic, child: stone, axis: z}}
"""
    path = continuation(derive(load_text(stone)), parameter="mass", to=2.0, on_failure="return")
    assert path.status == "failed"
    assert len(path) == 0
    assert "no equilibrium" in path.message
