"""The live page: a robot in the browser that can be played, changed and shaken. Needs the extra `view`."""
