"""Tables of the documentation that no command prints at once: some of their rows, computed again."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pliant import derive, load
from pliant.identify.compare import compare

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def table_rows(page: str, heading: str) -> dict[str, str]:
    """The rows of the first table after a line that contains the heading, by their first cells."""
    _, _, rest = (DOCS / page).read_text(encoding="utf-8").partition(heading)
    rows: dict[str, str] = {}
    for line in rest.splitlines():
        if line.startswith("|"):
            rows[line.split("|")[1].strip(" `")] = line
        elif rows:
            break
    return rows


def assert_same(stated: str, found: str, rel: float) -> None:
    """Numbers of two rows agree within a fraction, or one unit of the last stated digit."""
    first, second = NUMBER.findall(stated), NUMBER.findall(found)
    assert len(first) == len(second)
    assert NUMBER.sub("#", stated) == NUMBER.sub("#", found)
    for a, b in zip(first, second, strict=True):
        last = 10.0 ** -len(a.partition(".")[2]) if "e" not in a else 0.0
        assert float(a) == pytest.approx(float(b), rel=rel, abs=1.01 * last), f"{stated}\n{found}"


@pytest.mark.slow
@pytest.mark.parametrize("experiment", ["experiment_1", "experiment_2", "experiment_3"])
def test_the_experiments_of_the_pneumatic_arm(experiment: str) -> None:
    from validation_arm import row, three_runs

    stated = table_rows("validation.md", "<!-- arm_experiments -->")[experiment[-1]]
    assert_same(stated, row(experiment, *three_runs(experiment)), rel=0)


@pytest.mark.slow
def test_costs_and_errors_of_rod_models() -> None:
    stated = table_rows("rod-models.md", "## Costs and errors")
    kinds = [kind for kind in stated if ":" in kind]
    assert len(kinds) == 7
    robot = load("cantilever", set={"tip_force": 0.1})
    found = compare(derive(robot), {"rod": [*kinds, "finite_element:20"]}, until=0.3)
    for kind, one in zip(kinds, found, strict=False):
        motion = f"{one.mean_error_mm:.3g} mm | {one.max_error_mm:.3g} mm | {one.static_mean_error_mm:.3g} mm"
        cells = stated[kind].split("|")
        assert int(cells[2]) == one.states
        assert_same("|".join(cells[3:6]).strip(), motion, rel=0.01)
        assert float(cells[6].split()[0]) == pytest.approx(one.code_kb, rel=0.1)
