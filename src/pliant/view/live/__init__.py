"""The live page: an interactive view of a robot in the browser. Needs the extra `view`."""
