"""Recordings: the same columns with the same units from every format, and messages for faults of a file."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy

import pliant
from pliant.language.arguments import ArgumentError
from pliant.language.recording import TableLimits, split_heading

MODEL = """\
pliant: 1
parameters: {stiffness: 30 N/m, pull: {value: 0 N, input: true}, turn: {value: 0, input: true}}
bodies: {cart: {mass: 1 kg}, wheel: {mass: 1 kg, inertia: {principal: [1, 1, 1]}}}
joints:
  rail: {type: prismatic, child: cart, axis: x, displacement: {spring: =stiffness, damper: 1 N*s/m, input: =pull}}
  axle: {type: revolute, parent: cart, child: wheel, axis: y, angle: {spring: 1 N*m/rad, damper: 1 N*m*s/rad}}
outputs:
  tip: {frame: cart}
  pull: {frame: cart, component: x}
"""


@pytest.fixture(scope="module")
def eqs():
    return pliant.derive(pliant.load_text(MODEL))


@pytest.fixture(scope="module")
def run(eqs):
    force = (np.array([0.0, 0.5, 1.0]), np.array([0.0, 3.0, 1.0]))
    return pliant.simulate(eqs, 1.0, save_every=0.05, inputs={"pull": force})


def parquet_or_skip():
    engines = [name for name in ("pyarrow", "fastparquet") if _is_there(name)]
    if not engines:
        pytest.skip("no package for Parquet files")


def _is_there(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


@pytest.mark.parametrize("ending", ["csv", "mat", "parquet"])
def test_what_a_result_writes_is_read_back_to_the_bit(run, tmp_path, ending):
    if ending == "parquet":
        parquet_or_skip()
    file, wrote = tmp_path / f"run.{ending}", run.recording()
    run.save(file)
    read = pliant.read_recording(file)
    np.testing.assert_array_equal(read.time, run.time)
    assert list(read.columns) == list(wrote.columns)
    assert read.units == wrote.units
    assert read.flaws == {}
    for name, values in wrote.columns.items():
        np.testing.assert_array_equal(read.columns[name], values)
    np.testing.assert_array_equal(read.column("tip.x"), run["tip"].values[:, 0])
    np.testing.assert_array_equal(read.column("axle"), run["axle"].values)
    again = tmp_path / f"again.{ending}"
    read.save(again)
    back = pliant.read_recording(again)
    assert all(np.array_equal(back.columns[name], read.columns[name]) for name in read.columns)
    assert back.units == read.units


def test_headings_of_a_result_say_names_and_units(run, tmp_path):
    run.save(tmp_path / "run.csv")
    header = (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    assert header[:8] == [
        "time [s]", "tip.x [m]", "tip.y [m]", "tip.z [m]", "pull [m]", "input.pull [N]", "turn", "rail [m]",
    ]  # fmt: skip
    assert "axle [rad]" in header
    assert header[-4:] == ["kinetic [J]", "potential [J]", "dissipated [J]", "supplied [J]"]
    table = run.recording().to_pandas()
    assert table.index.name == "time [s]"
    assert table["input.pull [N]"].iloc[10] == pytest.approx(3.0)


def test_a_result_drives_and_is_compared_like_any_recording(eqs, run, tmp_path):
    """The output `pull` has the name of an input: the column `input.pull` drives it."""
    run.save(tmp_path / "run.csv")
    recording = pliant.read_recording(tmp_path / "run.csv")
    found = pliant.fit(eqs.at(parameters={"stiffness": 40.0}), ["stiffness"], recording)
    assert found.parameters["stiffness"] == pytest.approx(
        30.0, rel=5e-3
    )  # cubic between samples where the force has a kink
    assert found.after_mm < 0.1 * found.before_mm


def test_files_of_other_programs(tmp_path):
    """Units in square or round brackets, after an underscore, in a separate row; semicolons with decimal commas; tabs."""
    wanted = {"x": [2e-3, 4e-3], "p1": [1e3, 2e3]}
    texts = {
        "brackets": "t [ms],x [mm],p1 [kPa]\n0,2,1\n500,4,2\n",
        "round": "Time (ms), x(mm), p1 (kPa)\n0,2,1\n500,4,2\n",
        "underscore": "t_ms,x_mm,p1_kPa\n0,2,1\n500,4,2\n",
        "row": "t,x,p1\nms,mm,kPa\n0,2,1\n500,4,2\n",
        "row_in_brackets": "t,x,p1\n[ms],[mm],[kPa]\n0,2,1\n500,4,2\n",
        "semicolons": "t [s];x [m];p1 [kPa]\n0;0,002;1\n0,5;0,004;2\n",
        "tabs": "t_s\tx_m\tp1_Pa\n0\t0.002\t1000\n0.5\t0.004\t2000\n",
        "numpy": "# t_s,x_m,p1_Pa\n0,0.002,1000\n0.5,0.004,2000\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(text)
        found = pliant.read_recording(tmp_path / f"{name}.csv")
        np.testing.assert_allclose(found.time, [0, 0.5], err_msg=name)
        assert found.units == {"x": "m", "p1": "Pa"}, name
        assert found.assumed == ()
        for column, values in wanted.items():
            np.testing.assert_allclose(found.column(column), values, err_msg=name)


ANGLES = "t [s]{0}angle [°]{0}gap [µm]{0}\n0{0}0,5{0}1{0}\n0,5{0}90{0}-2,5{0}\n"


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_encodings_and_decimal_commas_of_laboratories(tmp_path, separator, encoding):
    """As Excel and instruments save tables, with a separator at the end of each line, and endings in any case."""
    for name in ("bench.csv", "BENCH.CSV", "bench.txt", "bench.tsv"):
        (tmp_path / name).write_bytes(ANGLES.format(separator).encode(encoding))
        found = pliant.read_recording(tmp_path / name)
        np.testing.assert_array_equal(found.time, [0, 0.5])
        np.testing.assert_allclose(found.column("angle"), np.radians([0.5, 90]))
        np.testing.assert_allclose(found.column("gap"), [1e-6, -2.5e-6])
        assert found.units == {"angle": "rad", "gap": "m"}


def test_separators_are_found_by_the_number_of_entries(tmp_path):
    """Commas within names, separators that Excel states, and quoted decimal commas."""
    texts = (
        "t [s];x, left [m]\n0,5;1\n1,5;2,5\n",
        "sep=;\nt [s];x, left [m]\n0,5;1\n1,5;2,5\n",
        't [s],"x, left [m]"\n"0,5",1\n"1,5","2,5"\n',
        "t [s]\tx, left [m]\n0.5\t1\n1.5\t2.5\n",
    )
    for text in texts:
        (tmp_path / "bench.csv").write_text(text)
        found = pliant.read_recording(tmp_path / "bench.csv")
        np.testing.assert_array_equal(found.time, [0.5, 1.5])
        np.testing.assert_array_equal(found.column("x, left"), [1, 2.5])


def test_vectors_of_a_mat_file_are_columns(tmp_path):
    scipy.io.savemat(
        tmp_path / "bench.mat", {"t_s": np.arange(3.0), "x_mm": np.array([[1.0], [2.0], [4.0]]), "note": "ok"}
    )
    found = pliant.read_recording(tmp_path / "bench.mat")
    np.testing.assert_allclose(found.column("x"), [1e-3, 2e-3, 4e-3])
    scipy.io.savemat(tmp_path / "uneven.mat", {"t_s": np.arange(3.0), "x_mm": np.arange(2.0)})
    with pytest.raises(ArgumentError, match="differ in length \\(t_s 3, x_mm 2\\)"):
        pliant.read_recording(tmp_path / "uneven.mat")


def test_a_mat_file_that_grows_when_it_is_unpacked(tmp_path, monkeypatch):
    content = {"t_s": np.arange(1e6), "x_mm": np.zeros(10**6)}
    scipy.io.savemat(tmp_path / "bench.mat", content, do_compression=True)
    assert len(pliant.read_recording(tmp_path / "bench.mat").time) == 10**6
    monkeypatch.setenv("PLIANT_LIMITS", "recording=10MB")
    assert (tmp_path / "bench.mat").stat().st_size < 5e6
    with pytest.raises(ArgumentError, match=r"bench\.mat is too large when unpacked; at most 10 MB"):
        pliant.read_recording(tmp_path / "bench.mat")


@pytest.mark.parametrize(
    ("heading", "name", "unit"),
    [
        ("arm.twist[1]", "arm.twist[1]", ""),
        ("arm.twist[1] [1/m]", "arm.twist[1]", "1/m"),
        ("d(q1)/dt [rad/s]", "d(q1)/dt", "rad/s"),
        ("d(q1)", "d(q1)", ""),
        ("p1_x", "p1_x", ""),
        ("p_1", "p_1", ""),
        ("rate_1/s", "rate", "1/s"),
        ("angle [°]", "angle", "°"),
        ("share (%)", "share", "%"),
        ("pressure (left)", "pressure (left)", ""),
        ("stretch [-]", "stretch", "-"),
    ],
)
def test_names_and_units_of_headings(heading, name, unit):
    assert split_heading(heading) == (name, unit)


def test_columns_without_numbers_are_refused_where_they_are_used(tmp_path):
    (tmp_path / "gaps.csv").write_text("t [s],x [m],y [m],note\n0,1,1,start\n1,,2,\n2,nan,3,end\n")
    found = pliant.read_recording(tmp_path / "gaps.csv")
    np.testing.assert_array_equal(found.column("y"), [1, 2, 3])
    with pytest.raises(
        ArgumentError, match=r"line 3 of .*has nothing in the column 'x \[m\]'.* 1 more lines .*interpolate"
    ):
        found.column("x")
    with pytest.raises(ArgumentError, match=r"line 2 of .*has 'start' in the column 'note'"):
        found.column("note")


BAD = {
    "times.csv": ("t [s],x\n0,1\n,2\n", "line 3 .*nothing in the column .*; remove the rows without a time"),
    "twice.csv": ("t [s],x\n0,1\n0,2\n1,2\n1,3\n", "0 follows 0 .row 2.; 2 rows do not; sort the rows"),
    "endless.log": ("t [s],x\n0,1\n", "end it in .csv, .parquet or .mat"),
    "book.xlsx": ("PK", "workbook of a spreadsheet program; export it as CSV"),
    "zeros.csv": ("t\0", "has zero bytes; save it as comma-separated UTF-8"),
    "commas.csv": ("t [s],x [m]\n0,5,1,5\n", "line 2 .*4 entries for 2 columns separated by commas; .*decimal commas"),
    "both.csv": ("t [s];x [m]\n0,5;1.5\n", r"decimal commas .'0,5' in line 2. and others .'1.5' in line 2.; write all"),
    "thousands.csv": ("t [s];x [m]\n1,5;1,234.5\n", r"'1,5' in line 2. and others .'1,234.5' in line 2."),
    "groups.csv": (
        "t [s];x [m]\n1;2\n2;1,250\n",
        "'1,250' in line 3 of .* may be a decimal comma or separate thousands",
    ),
    "quoted.csv": (
        't [s],x [m]\n"1","2,125"\n',
        "'2,125' in line 2 of .* may be a decimal comma or separate thousands",
    ),
    "spaces.csv": ("t x y\n0 1 2\n", "separated by spaces; separate them by commas"),
    "preamble.csv": (
        "Instrument 7\nt,x\n0,1\n",
        "line 2 .* 2 entries for 1 column.*; the first line must contain the names",
    ),
    "torn.mat": ("no matrix", "is not a MAT file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_the_way_out(tmp_path, name):
    (tmp_path / name).write_text(BAD[name][0])
    with pytest.raises(ArgumentError, match=BAD[name][1]):
        pliant.read_recording(tmp_path / name)


def test_a_missing_package_is_named(run, tmp_path, monkeypatch):
    for name in ("pyarrow", "fastparquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ArgumentError, match="pip install 'pliant\\[tables\\]'"):
        run.save(tmp_path / "run.parquet")
    assert not list(tmp_path.iterdir())


def test_units_of_compared_columns_are_checked(eqs, run):
    read = run.recording()
    wrong = pliant.Recording("bench", read.time, read.columns, {**read.units, "tip.y": "N"})
    with pytest.raises(
        ArgumentError, match=r"the column 'tip.y' of bench is in a unit of force, but the output 'tip' is in m"
    ):
        pliant.fit(eqs, ["stiffness"], wrong)
    with pytest.raises(
        ArgumentError, match=r"bench has no columns tip.x, tip.y, tip.z or x, y, z for the output 'tip'"
    ):
        pliant.fit(eqs, ["stiffness"], pliant.Recording("bench", read.time, {"input.pull": read.columns["input.pull"]}))


def test_a_model_reads_the_column_of_a_result(run, tmp_path):
    run.save(tmp_path / "run.csv")
    series = "inputs: {pull: {series: {file: run.csv, column: input.pull}}}\n"
    again = pliant.simulate(pliant.derive(pliant.load_text(MODEL + series, folder=tmp_path)), 1.0, save_every=0.05)
    np.testing.assert_allclose(again["rail"].values, run["rail"].values, atol=1e-6)
    with pytest.raises(
        pliant.SpecError, match=r"the column 'rail' of run.csv is in a unit of length, but 'pull' is a force"
    ):
        pliant.load_text(MODEL + series.replace("input.pull", "rail"), folder=tmp_path)
    twice = "inputs: {pull: {series: {file: run.csv, column: input.pull, unit: kN}}}\n"
    with pytest.raises(pliant.SpecError, match=r"`unit` is kN, but the heading in the file is 'input.pull \[N\]'"):
        pliant.load_text(MODEL + twice, folder=tmp_path)


def test_rows_without_a_measured_number_are_left_out(eqs, tmp_path):
    """As recorded in a lab: comments, other names, a clock that does not start at zero, lost markers."""
    times = np.linspace(0, 2, 81)
    run = pliant.simulate(
        eqs, 2.0, save_at=times, rtol=1e-8, parameters={"stiffness": 40.0}, inputs={"pull": "1 N*sin(5*t/(1 s))"}
    )
    position = 1e3 * run["pull"].values
    cells = [f"{x:.9f}" for x in position]
    cells[0], cells[7], cells[20] = "", "NaN", "n/a"
    rows = [f"{1.7e9 + t:.3f},{c},{np.sin(5 * t)},0" for t, c in zip(times, cells, strict=True)]
    file = tmp_path / "lab.csv"
    file.write_text("# lab 3\n#\nTime [s],marker [mm],input.pull [N],turn [-]\n" + "\n".join(rows) + "\n")
    found = pliant.read_recording(file)
    assert found.gaps == ("marker",)
    assert np.isnan(found.measured("marker")).sum() == 3
    with pytest.raises(ArgumentError, match="line 4"):
        found.column("marker")
    fit = pliant.fit(eqs, ["stiffness"], found, output="pull", columns=["marker"])
    assert fit.parameters["stiffness"] == pytest.approx(40, rel=1e-3)
    assert any(note.startswith("3 of 81 rows of") for note in fit.remarks)
    np.testing.assert_allclose(fit.paths[0].measured[:, 0], np.delete(position, [0, 7, 20]) / 1e3, atol=1e-11)


def test_garbage_is_no_gap(tmp_path):
    file = tmp_path / "run.csv"
    file.write_text("t [s],x [m]\n0,1\n1,oops\n2,\n")
    with pytest.raises(ArgumentError, match="'oops'"):
        pliant.read_recording(file).measured("x")


def test_tables_with_too_many_numbers(tmp_path, monkeypatch):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("fastparquet")
    zeros = pandas.DataFrame({"time": np.zeros(2_000_000), "x": np.zeros(2_000_000)})
    zeros.to_parquet(tmp_path / "zeros.parquet", compression="GZIP")
    assert (tmp_path / "zeros.parquet").stat().st_size < 100_000
    (tmp_path / "rows.csv").write_text("time,x\n" + "".join(f"{i},1\n" for i in range(1001)))
    monkeypatch.setenv("PLIANT_LIMITS", "cells=2000")
    with pytest.raises(ArgumentError, match=r"zeros\.parquet has some 4e\+06 numbers; at most 2000, unless"):
        pliant.read_recording(tmp_path / "zeros.parquet")
    with pytest.raises(ArgumentError, match=r"rows\.csv has some 2e\+03 numbers; at most 2000, unless"):
        pliant.read_recording(tmp_path / "rows.csv")


@pytest.mark.parametrize(
    ("separator", "units", "end"), [(",", "", "\n"), (";", "", "\r\n"), ("\t", "s\tmm\n", "\n"), (",", "s,mm\n", "")]
)
def test_long_tables_of_numbers_equal_short_ones(tmp_path, monkeypatch, separator, units, end):
    rows = [(0.1 * k, np.sin(k) * 10.0 ** (k % 40 - 20)) for k in range(250)]
    text = "# made by a logger\n" + separator.join(["time", "x" if units else "x [mm]"]) + "\n" + units
    text += "\n".join(f"{t!r}{separator}{x:.17g}" for t, x in rows) + end
    (tmp_path / "long.csv").write_text(text, newline="")
    fast = pliant.read_recording(tmp_path / "long.csv")
    monkeypatch.setattr("pliant.language.recording.TABLES", TableLimits(head=10_000))
    slow = pliant.read_recording(tmp_path / "long.csv")
    assert np.array_equal(fast.time, slow.time)
    assert np.array_equal(fast.column("x"), slow.column("x"))
    assert fast.units == slow.units


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("200,2,3", "line 202 of .*long.csv has 3 entries"),
        ("200,abc", "line 202 .* has 'abc'"),
        ("200,", "has nothing"),
    ],
)
def test_long_tables_with_a_flaw(tmp_path, line, words):
    (tmp_path / "long.csv").write_text("time,x\n" + "".join(f"{k},1\n" for k in range(200)) + line + "\n")
    with pytest.raises(ArgumentError, match=words):
        pliant.read_recording(tmp_path / "long.csv").column("x")
