"""Cases with known solutions: functions in a module per theme, which `pliant validate` computes.

To add one, write it in the module of its theme: the function's name is the case's name, and its docstring
names what is compared with which source (`case.py`).
"""
