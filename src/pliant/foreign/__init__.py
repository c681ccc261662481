"""Robots in other formats, converted to models: URDF, and MJCF through MuJoCo.

A reader returns a tree in the language of model files, with the lines of the original file; checks, attaching and writing then
work as for any model. Features without a counterpart are listed in notes, with their lines.
"""
