"""The command line as a program: `pliant` and `python -m pliant`.

The command line is imported within `main`, so that Ctrl-C during the imports ends the process as it does later.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        from pliant.cli import main as run
        from pliant.cli.common import INTERRUPTED
    except KeyboardInterrupt:
        print("pliant: interrupted", file=sys.stderr)
        sys.exit(130)
    try:
        run()
    except KeyboardInterrupt:  # before or after the command
        print("pliant: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
