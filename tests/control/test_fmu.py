"""An FMU as a controller: half of a robot in an FMU, coupled to the other half, against the whole one."""

from __future__ import annotations

import copy
import gc
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.language.arguments import ArgumentError

pytest.importorskip("fmpy")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

ARM = """
pliant: 1
name: arm
parameters: {torque: {value: 0 N*m, input: true}}
bodies: {link: {mass: 1 kg, inertia: {principal: [0.1, 0.1, 0.1]}}}
joints: {hinge: {type: revolute, child: link, axis: z, angle: {initial: 0.3 rad, input: =torque}}}
outputs: {angle: {coordinate: hinge}}
"""
DRIVE = """
pliant: 1
name: drive
parameters:
  stiffness: 40 N*m/rad
  measured: {value: 0.3 rad, input: true}
bodies: {rotor: {mass: 1 kg, inertia: {principal: [0.05, 0.05, 0.05]}}}
joints: {shaft: {type: revolute, child: rotor, axis: z, angle: {spring: =stiffness, input: =stiffness*measured}}}
outputs:
  shaft: {coordinate: shaft}
  torque: {expression: '=stiffness*(shaft - measured)'}
"""
WHOLE = """
pliant: 1
name: whole
bodies:
  link: {mass: 1 kg, inertia: {principal: [0.1, 0.1, 0.1]}}
  rotor: {mass: 1 kg, inertia: {principal: [0.05, 0.05, 0.05]}}
joints:
  hinge: {type: revolute, child: link, axis: z, angle: {initial: 0.3 rad}}
  shaft: {type: revolute, parent: link, child: rotor, axis: z, angle: {initial: -0.3 rad, spring: 40 N*m/rad}}
outputs: {angle: {coordinate: hinge}}
"""


@pytest.fixture(scope="module")
def drive(tmp_path_factory):
    file = tmp_path_factory.mktemp("fmu") / "drive.fmu"
    return pliant.export_fmu(pliant.derive(pliant.load_text(DRIVE)), file, step=1e-4).path


@needs_compiler
def test_two_halves_move_as_the_whole_does(drive):
    whole = pliant.simulate(pliant.derive(pliant.load_text(WHOLE)), 0.4, rtol=1e-10, save_every=0.02)
    arm = pliant.derive(pliant.load_text(ARM))
    errors = []
    for sample in (2e-3, 1e-3):
        unit = pliant.Fmu(drive, inputs={"measured": "angle"}, commands={"torque": "torque"}, sample_time=sample)
        run = pliant.simulate(arm, 0.4, rtol=1e-9, save_every=0.02, controllers=unit)
        again = pliant.simulate(arm, 0.4, rtol=1e-9, save_every=0.02, controllers=unit)
        assert np.array_equal(run.q, again.q)  # each run starts with a fresh instance
        errors.append(np.max(np.abs(run["angle"].values - whole["angle"].values)))
    assert errors[1] < 0.02
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.15)  # held values: order one in the sample time


@needs_compiler
def test_parameters_and_functions_of_now(drive):
    arm = pliant.derive(pliant.load_text(ARM))
    unit = pliant.Fmu(
        drive, inputs={"measured": lambda now: now.q[0]}, commands={"torque": "torque"}, parameters={"stiffness": 0.0}
    )
    run = pliant.simulate(arm, 0.05, controllers=unit)
    assert np.allclose(run.q[:, 0], 0.3)  # a drive without stiffness moves nothing


@needs_compiler
def test_wrong_names_are_refused(drive):
    with pytest.raises(ArgumentError, match=r"no input 'mesured'.*did you mean 'measured'"):
        pliant.Fmu(drive, inputs={"mesured": "angle"}, commands={"torque": "torque"})
    with pytest.raises(ArgumentError, match="no output 'force'"):
        pliant.Fmu(drive, inputs={"measured": "angle"}, commands={"torque": "force"})
    unit = pliant.Fmu(drive, inputs={"measured": "angel"}, commands={"torque": "torque"})
    with pytest.raises(ValueError, match="angel"):
        pliant.simulate(pliant.derive(pliant.load_text(ARM)), 0.1, controllers=unit)


def packed(path, contents):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
    return path


BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><x>&b;</x>'
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><fmiModelDescription>&a;</fmiModelDescription>'


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        ({"other.xml": "<x/>"}, "no modelDescription.xml"),
        ({"modelDescription.xml": BOMB}, "defines entities"),
        ({"modelDescription.xml": OUTSIDE}, "defines entities"),
        ({"modelDescription.xml": "<x/>", "../outside.txt": "x"}, "outside of its own folder"),
        ({"modelDescription.xml": "<x/>", "/tmp/outside.txt": "x"}, "outside of its own folder"),
        ({"modelDescription.xml": "<x"}, "cannot be read"),
        ({"modelDescription.xml": "<fmiModelDescription fmiVersion='9'/>"}, "cannot be read"),
    ],
)
def test_files_of_strangers_are_refused_in_words(tmp_path, contents, said):
    with pytest.raises(ArgumentError, match=said):
        pliant.Fmu(packed(tmp_path / "strange.fmu", contents), inputs={}, commands={})


DESCRIPTION = """<?xml version="1.0"?><fmiModelDescription fmiVersion="2.0" modelName="m" guid="g">
<CoSimulation modelIdentifier="m"/><ModelVariables><ScalarVariable name="y" valueReference="1" causality="output"><Real/>
</ScalarVariable></ModelVariables><ModelStructure/></fmiModelDescription>"""


def test_bombs_are_not_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.fmu", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", DESCRIPTION)
        archive.writestr("resources/zero", bytes(60_000_000))
    with pytest.raises(ArgumentError, match=r"60 MB, .* times its size"):
        pliant.Fmu(tmp_path / "bomb.fmu", inputs={}, commands={})


def test_sizes_in_the_directory_of_a_bomb_may_be_zero(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.fmu", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", "<x/>")
        archive.writestr("big", b"\0" * 60_000_000)
    content = bytearray((tmp_path / "bomb.fmu").read_bytes())
    entry = -1
    while (entry := content.find(b"PK\x01\x02", entry + 1)) >= 0:
        content[entry + 20 : entry + 24] = bytes(4)  # the compressed size
    (tmp_path / "bomb.fmu").write_bytes(content)
    with pytest.raises(ArgumentError, match="too large to be unpacked: 60 MB"):
        pliant.Fmu(tmp_path / "bomb.fmu", inputs={}, commands={})


@needs_compiler
def test_entities_are_not_hidden_by_an_encoding(drive, tmp_path):
    with zipfile.ZipFile(drive) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    rest = contents["modelDescription.xml"].decode().partition("?>")[2]
    hidden = "+ADwAIQ-DOCTYPE x [+ADwAIQ-ENTITY a 'aaaa'>]>"  # <! in UTF-7
    contents["modelDescription.xml"] = f'<?xml version="1.0" encoding="UTF-7"?>{hidden}{rest}'.encode()
    with zipfile.ZipFile(tmp_path / "hidden.fmu", "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    with pytest.raises(ArgumentError, match="is not in UTF-8"):
        pliant.Fmu(tmp_path / "hidden.fmu", inputs={}, commands={})


@needs_compiler
def test_arguments_of_wrong_types(drive):
    for wrong in (3.0, "abc", [1]):
        for key in ("inputs", "commands", "parameters"):
            with pytest.raises(ArgumentError, match=f"{key} must map names"):
                pliant.Fmu(drive, **{"inputs": {}, "commands": {}, key: wrong})
    for wrong in ("x", None, 1 + 1j, float("nan")):
        with pytest.raises(ArgumentError, match="must be a finite number"):
            pliant.Fmu(drive, {}, {}, parameters={"time": wrong})


def test_a_library_outside_of_the_file_is_not_loaded(tmp_path):
    pytest.importorskip("fmpy")
    elsewhere = DESCRIPTION.replace('"m"/>', '"../../../tmp/evil"/>')
    with pytest.raises(ArgumentError, match="a modelIdentifier that is no name"):
        pliant.Fmu(packed(tmp_path / "far.fmu", {"modelDescription.xml": elsewhere}), inputs={}, commands={})


def test_a_damaged_library_leaves_the_folder_of_the_process(tmp_path):
    pytest.importorskip("fmpy")
    contents = {"modelDescription.xml": DESCRIPTION} | {
        f"binaries/{name}/m.{suffix}": "no library"
        for name, suffix in (("linux64", "so"), ("darwin64", "dylib"), ("win64", "dll"))
    }
    unit = pliant.Fmu(packed(tmp_path / "damaged.fmu", contents), inputs={}, commands={"torque": "y"})
    before = Path.cwd()
    with pytest.raises(RuntimeError, match="cannot be started on this machine"):
        pliant.simulate(pliant.derive(pliant.load_text(ARM)), 0.1, controllers=unit)
    assert Path.cwd() == before


def test_what_is_no_zip_file_is_refused(tmp_path):
    (tmp_path / "no.fmu").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(ArgumentError, match="is not an FMU"):
        pliant.Fmu(tmp_path / "no.fmu", inputs={}, commands={})
    with pytest.raises(ArgumentError, match="there is no file"):
        pliant.Fmu(tmp_path / "missing.fmu", inputs={}, commands={})


@needs_compiler
def test_an_fmu_without_a_library_for_this_machine_is_said(drive, tmp_path):
    with zipfile.ZipFile(drive) as whole, zipfile.ZipFile(tmp_path / "foreign.fmu", "w") as foreign:
        for name in whole.namelist():
            if not name.startswith("binaries/"):
                foreign.writestr(name, whole.read(name))
    unit = pliant.Fmu(tmp_path / "foreign.fmu", inputs={"measured": "angle"}, commands={"torque": "torque"})
    with pytest.raises(RuntimeError, match="cannot be started on this machine"):
        pliant.simulate(pliant.derive(pliant.load_text(ARM)), 0.1, controllers=unit)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_lives_longer_than_what_it_was_made_of(drive, way):
    arm = pliant.derive(pliant.load_text(ARM))
    first = pliant.Fmu(drive, {"measured": "angle"}, {"torque": "torque"}, sample_time=0.01)
    moved = pliant.simulate(arm, 0.1, controllers=first).q
    second = way(first)
    del first
    gc.collect()
    np.testing.assert_array_equal(pliant.simulate(arm, 0.1, controllers=second).q, moved)
