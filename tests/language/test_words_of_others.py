"""Keys and types by the names that other programs have: the hint gives the name of this language, not one that looks alike."""

import pytest

from pliant.language.faults import SpecError
from pliant.robot.reader import load_text

ROBOT = """
pliant: 1
materials: {{steel: {{density: 7850, youngs_modulus: 2e11, poissons_ratio: 0.3{material}}}}}
sections: {{wire: {{shape: circle, radius: 1 mm}}}}
bodies: {{arm: {{count: 2, mass: 1 kg{body}}}}}
joints: {{hinge: {{type: {type}, child: arm, axis: z{joint}, angle: {{initial: 0{angle}}}}}}}
rods: {{rod: {{length: 1 m, section: wire, material: steel{rod}}}}}
"""
EMPTY = dict.fromkeys(("material", "body", "joint", "angle", "rod"), "") | {"type": "revolute"}


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"material": ", E: 1e9"}, "write `youngs_modulus`"),
        ({"angle": ", damping: 1"}, "write `damper`"),
        ({"angle": ", stiffness: 1"}, "write `spring`"),
        ({"angle": ", torque: 1"}, "write `input`"),
        ({"joint": ", origin: [0, 0, 0]"}, "write `position`"),
        ({"joint": ", count: 2"}, "a joint is repeated with its child"),
        ({"body": ", density: 1000"}, "it belongs to the material"),
        ({"rod": ", radius: 1 mm"}, "it belongs to the section"),
        ({"rod": ", elements: 10"}, "`model: {kind: pcs, elements: 10}`"),
        ({"type": "hinge"}, "write `revolute`"),
    ],
)
def test_the_hint_is_the_name_of_this_language(given, hint):
    load_text(ROBOT.format(**EMPTY))
    with pytest.raises(SpecError) as raised:
        load_text(ROBOT.format(**EMPTY | given))
    assert hint in str(raised.value)
