"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_whole(target: Path, content: bytes | memoryview) -> None:
    """Write a file so that it is complete or not there; an older one is replaced only at the end, and keeps its permissions."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        # opened like any new file, so that the system gives it the permissions that the user's mask leaves
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(part, target.stat().st_mode & 0o777)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
