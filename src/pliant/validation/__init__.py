"""Cases with known solutions: each is a file in `cases/`, and `pliant validate` computes all of them.

To add one, copy a file of that folder: its name is the case's name, the first line of its docstring the title.
"""
