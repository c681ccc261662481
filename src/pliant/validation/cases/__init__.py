"""One case per file; `check` in each is a `Case` (`validation/case.py`)."""
