#!/usr/bin/env python3
"""Holds the source to src/LAYERS: who may include whom, one file name once, no exit() in the library.

    tools/check_layers.py [top folder]

Prints one line per violation, "file:line: what is wrong", and exits with 1 if there was any.
"""
import re
import sys
from pathlib import Path

PUBLIC = "dqs.h"
GENERATED = {"build_info.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
EXIT = re.compile(r"\b(?:exit|_exit|_Exit|quick_exit)\s*\(")
# A comment, a string or a character: what may hold words that are not code.
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def read_law(path):
    """{room: rooms it may include} from src/LAYERS."""
    law = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        room, colon, allowed = line.partition(":")
        if not colon:
            raise SystemExit(f"{path}:{number}: expected 'room: rooms it may include'")
        law[room.strip()] = set(allowed.split())
    return law


def room_of(path, top):
    """The room a file lives in: src/<room>/..., else its first folder."""
    parts = path.relative_to(top).parts
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def sources(top, folders):
    for folder in folders:
        yield from sorted(p for p in (top / folder).rglob("*") if p.suffix in (".c", ".h"))


def blank(text):
    """The text without comments and strings, every line at its old number."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def check_names(top):
    first = {}
    for path in sources(top, ("include", "src", "cli", "bench", "tests", "examples")):
        if path.name in first:
            other = first[path.name].relative_to(top)
            yield path, 1, f"a file named {path.name} is already at {other}; file names are unique in the tree"
        first.setdefault(path.name, path)


def check_includes(top, law):
    homes = {p.name: room_of(p, top) for p in sources(top, ("src", "cli", "bench")) if p.suffix == ".h"}
    for path in sources(top, ("src", "cli", "bench")):
        room = room_of(path, top)
        if room not in law:
            yield path, 1, f"the room '{room}' is not in src/LAYERS"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                problem = include_problem(match.group(1), room, homes, law)
                if problem:
                    yield path, number, problem


def include_problem(name, room, homes, law):
    if name == PUBLIC or name in GENERATED:
        return None
    if "/" in name:
        return f'"{name}": headers are included by their bare name'
    if name not in homes:
        return f'"{name}" is no header of this tree; a library\'s header is written <{name}>'
    if homes[name] == room or homes[name] in law[room]:
        return None
    allowed = " ".join(sorted(law[room])) or "nothing but its own headers"
    return f'{room} includes "{name}" of {homes[name]}; src/LAYERS allows {room}: {allowed}'


def check_exit(top):
    for path in sources(top, ("src",)):
        for number, line in enumerate(blank(path.read_text()).splitlines(), 1):
            if EXIT.search(line):
                yield path, number, "exit() in the library; return a dqs_status instead"


def check(top):
    """All violations as lines of text."""
    law = read_law(top / "src" / "LAYERS")
    found = [*check_names(top), *check_includes(top, law), *check_exit(top)]
    return [f"{path.relative_to(top)}:{number}: {problem}" for path, number, problem in found]


def main():
    top = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    violations = check(top)
    for line in violations:
        print(line)
    files = len(list(sources(top, ("src", "cli", "bench"))))
    print(f"layers: {files} files, {len(violations)} violations of src/LAYERS")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
