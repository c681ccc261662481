"""Shape and tensions of the trunk together: the smallest effort that brings its gripper to a given position.

The rods' lengths, the radius between them and the tendons' distance from the axis vary along with two tensions. The tendons must
stay within the silicone, and the trunk may not become longer. For comparison, the tensions for the original shape.
"""

import pliant

PLACE = ["tip.x == 12 cm", "tip.z == -30 cm"]
EFFORT = "(near1^2 + far1^2)/(1 N)^2"
TENSIONS = {"near1": "0:40 N", "far1": "0:40 N"}
SHAPE = {"upper_length": "15:25 cm", "lower_length": "10:20 cm", "middle_radius": "12:16 mm", "far_offset": "6:12 mm"}
FITS = ["upper_length + lower_length <= 36 cm", "far_offset <= middle_radius - 4 mm"]


def main() -> float:
    eqs = pliant.derive("trunk")
    near = "(tip.x/(1 cm) - 12)^2 + (tip.z/(1 cm) + 30)^2"
    as_it_is = pliant.optimize(eqs, near, TENSIONS)
    tensions = as_it_is.values
    effort = tensions["near1"] ** 2 + tensions["far1"] ** 2
    best = pliant.optimize(eqs, EFFORT, {**TENSIONS, **SHAPE}, subject_to=[*PLACE, *FITS])
    print(f"shape as it is: effort {effort:.1f} N^2, {as_it_is.objective**0.5:.3f} cm from the place")
    print(best)
    tip = pliant.equilibrium(best.equations).outputs["tip"]
    assert abs(tip[0] - 0.12) < 1e-5
    assert abs(tip[2] + 0.30) < 1e-5
    assert best.objective < 0.9 * effort
    return best.objective / effort


if __name__ == "__main__":
    main()
