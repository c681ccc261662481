"""Rotations, rigid motions and spatial algebra as pure functions of CasADi or numeric values.

Conventions of the entire package:

* a pose is `(R, p)`: `R` transforms body components into base components, `p` is the body's origin in the base;
* a quaternion is `[w, x, y, z]`, unit, and rotates body into base;
* a twist is `(linear, angular)`, a wrench `(force, moment)`, both 6-vectors, taken at the origin of the frame
  in whose axes they are written (for "world" twists: at the world's origin);
* an increment of a rotation acts on the body side: `R -> R exp(hat(phi))`.

Functions of `so3` and `se3` take and return CasADi matrices (`SX`, `MX` or `DM`), so the same formula serves generated code,
symbolic expressions and plain numbers; those of `arrays` work on NumPy arrays of many rotations and motions.
"""
