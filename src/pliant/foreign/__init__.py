"""Robots in other formats, read as model documents: URDF, and MJCF by MuJoCo.

A reader returns text of Pliant's own language as a tree whose values know the lines of the file they come from. Everything after
that, checks, attaching, writing, is what happens to any model. What has no counterpart is noted, with its place.
"""
