"""Files are written whole, and like any other file of the user."""

import os
import stat
import threading

import pytest

from pliant.language import files
from pliant.language.files import write_whole


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_has_the_permissions_that_the_mask_leaves(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "file", b"text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~mask
    assert (tmp_path / "file").read_bytes() == b"text"


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    target = tmp_path / "file"
    target.write_bytes(b"old")
    target.chmod(0o640)
    write_whole(target, b"new")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_whole(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert target.read_bytes() == b"old"


def test_links_stay_and_devices_are_written_to(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_whole(tmp_path / "pipe", b"a", b"b")
    reader.join(10)
    assert found == [b"ab"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize("missing", ["open", "link"])
def test_without_nameless_files_parts_of_the_killed_are_swept(tmp_path, monkeypatch, missing):
    """A disk that has no files without names, or does not let them have one."""
    usual = getattr(os, missing)

    def refuse(first, *more, **options):
        if missing == "link" or more[0] & getattr(os, "O_TMPFILE", 0) == getattr(os, "O_TMPFILE", -1):
            raise OSError(95, "Operation not supported")
        return usual(first, *more, **options)

    monkeypatch.setattr(os, missing, refuse)
    for name, age in ((".file.0123.part", 2 * files.ABANDONED), (".file.4567.part", 0), (".other.0123.part", 1e6)):
        (tmp_path / name).touch()
        then = (tmp_path / name).stat().st_mtime - age
        os.utime(tmp_path / name, (then, then))
    write_whole(tmp_path / "file", b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert sorted(p.name for p in tmp_path.iterdir()) == [".file.4567.part", ".other.0123.part", "file"]
