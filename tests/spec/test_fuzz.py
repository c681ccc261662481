"""Thousands of damaged models: each is accepted or refused in good order, and quickly.

The bundled robots and the examples of the reference are damaged, with a fixed seed; PLIANT_FUZZ sets how often.
"""

from __future__ import annotations

import os
import random
import resource
import time
from pathlib import Path

import pytest
from mutation import mutate

from make_reference import PAGE, examples
from pliant.cli import run
from pliant.language.faults import SpecError
from pliant.language.source import MODEL_FOLDER, bundled
from pliant.spec.flattening import flatten
from pliant.spec.reader import load
from pliant.spec.writer import dump
from pliant.view.tables import html

MUTANTS = int(os.environ.get("PLIANT_FUZZ", "400"))
SECONDS = 5.0
BYTES = 3e8
"""Most memory that reading damaged models may add to what the process has taken before."""
BLOCKS = 4


@pytest.mark.parametrize("block", range(BLOCKS))
def test_damaged_models(block: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(f"pliant {block}")
    texts = [(MODEL_FOLDER / f"{name}.yaml").read_text(encoding="utf-8") for name in bundled()]
    texts += examples(PAGE.read_text(encoding="utf-8"))
    path = tmp_path / "model.yaml"
    sound, before = 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(MUTANTS // BLOCKS):
        text = mutate(chance.choice(texts), chance)
        path.write_text(text, encoding="utf-8", newline="")
        start = time.process_time()
        code = run(["check", str(path)])
        took = time.process_time() - start
        said = capsys.readouterr().err
        assert code in (0, 2), f"mutant {number}: {said}\n{text}"
        assert took < SECONDS, f"mutant {number} took {took:.1f} s\n{text}"
        assert (code == 2) == (" fault" in said), f"mutant {number}: {said}\n{text}"
        assert said == "" or said.isascii() or said.replace("\n", "").isprintable()
        if code == 0:
            sound += 1
            written_back(path, text)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < BYTES
    assert 0 < sound < MUTANTS // BLOCKS


def written_back(path: Path, text: str) -> None:
    """A mutant that is still a sound model flattens, prints and writes back to an equal one."""
    spec = load(path)
    if sum(len(things) for things in (flatten(spec).bodies, spec.joints)) < 500:
        assert str(spec)
        assert html(spec)
    copy = path.with_name("copy.yaml")
    copy.write_text(dump(spec), encoding="utf-8")
    try:
        assert load(copy) == spec, text
    except SpecError as error:
        raise AssertionError(f"{error}\n{text}\n{dump(spec)}") from None
