"""Checks that links and joints of a URDF form a tree: unique names, known links, one root, no loops."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.foreign.document import Document
from pliant.foreign.markup import Element
from pliant.language.message_text import describe, suggestion

TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical")


def check_tree(document: Document, links: Sequence[Element], joints: Sequence[Element]) -> Element | None:
    """The root link; faults are recorded in the document."""
    known = {link.get("name"): link for link in links}
    _check_names(document, links)
    _check_names(document, joints)
    children: dict[str, list[str]] = {}
    held: dict[str, Element] = {}
    for joint in joints:
        if joint.get("type") not in TYPES:
            hint = suggestion(joint.get("type"), TYPES, f"known: {', '.join(TYPES)}")
            document.fault(f"unknown joint type {describe(joint.get('type'))}", hint, line=joint.line)
        ends = [_end(document, joint, tag, known) for tag in ("parent", "child")]
        parent, child = ends
        if parent is None or child is None:
            continue
        if child in held:
            message = f"the link {describe(child)} is the child of two joints, the first on line {held[child].line}"
            document.fault(message, "a URDF robot is a tree; close loops in the model instead", line=joint.line)
            continue
        held[child] = joint
        children.setdefault(parent, []).append(child)
    if document.faults:
        return None
    return _root(document, known, held, children)


def _check_names(document: Document, elements: Sequence[Element]) -> None:
    first: dict[str, int] = {}
    for element in elements:
        name = element.get("name")
        if not name:
            document.fault(f"a <{element.tag}> has no name", line=element.line)
        elif name in first:
            message = f"there are two {element.tag}s {describe(name)}, the first on line {first[name]}"
            document.fault(message, "rename one of them", line=element.line)
        first.setdefault(name, element.line)


def _end(document: Document, joint: Element, tag: str, known: dict[str, Element]) -> str | None:
    """The name of the link at one end of a joint; None, with a fault, if there is none."""
    element = joint.first(tag)
    name = element.get("link") if element is not None else ""
    if name in known:
        return name
    message = (
        f"the joint {describe(joint.get('name'))} has no <{tag}>" if not name else f"there is no link {describe(name)}"
    )
    document.fault(message, suggestion(name, known), line=element.line if element is not None else joint.line)
    return None


def _root(
    document: Document, known: dict[str, Element], held: dict[str, Element], children: dict[str, list[str]]
) -> Element | None:
    roots = [link for name, link in known.items() if name not in held]
    if len(roots) > 1:
        names = ", ".join(describe(link.get("name")) for link in roots[:5]) + (", ..." if len(roots) > 5 else "")
        message = f"{len(roots)} links are not the child of any joint: {names}"
        document.fault(message, "a URDF robot has one root; join the others by fixed joints", line=roots[1].line)
        return None
    reached, waiting = set[str](), [link.get("name") for link in roots]
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting.extend(children.get(name, ()))
    around = [name for name in known if name not in reached]
    if around:
        message = f"the joints form a loop through {describe(around[0])}"
        document.fault(message, "a URDF robot is a tree; close loops in the model instead", line=known[around[0]].line)
        return None
    return roots[0] if roots else None
