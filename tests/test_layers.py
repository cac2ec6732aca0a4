"""tools/check_layers.py finds every kind of violation, and passes what is allowed."""
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
LAYERS = "# the law\nbase:\nmath: base\nenv:  base\ncli:  base\nbench: base math\n"
CLEAN = {
    "src/LAYERS": LAYERS,
    "include/dqs.h": "int dqs_x(void);\n",
    "src/base/arena.h": '#include "dqs.h"\n',
    "src/base/arena.c": '#include "arena.h"\n#include <stdlib.h>\n',
    "src/math/vec.h": '#include "arena.h"\n#include "build_info.h"\n',
    "src/env/maze.c": '#include "arena.h"\n',
    "cli/main.c": '#include "dqs.h"\n#include <stdlib.h>\nint main(void) { exit(0); }\n',
    "bench/bench.c": '#include "vec.h"\n',
}


def check(top, files):
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    script = TOP / "tools" / "check_layers.py"
    done = subprocess.run([sys.executable, script, top], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_lawful_tree_passes(tmp_path):
    assert check(tmp_path, CLEAN)[0] == 0


@pytest.mark.parametrize("name, text, message", [
    ("src/env/maze.c", '#include "arena.h"\n#include "vec.h"\n', 'src/env/maze.c:2: env includes "vec.h" of math'),
    ("src/base/arena.c", '  #  include "vec.h"\n', 'src/base/arena.c:1: base includes "vec.h" of math'),
    ("cli/main.c", '#include "vec.h"\n', 'cli/main.c:1: cli includes "vec.h" of math'),
    ("src/env/maze.c", '#include "math/vec.h"\n', "src/env/maze.c:1: \"math/vec.h\": headers are included by"),
    ("src/env/maze.c", '#include "zlib.h"\n', 'src/env/maze.c:1: "zlib.h" is no header of this tree'),
    ("src/env/vec.h", "\n", "src/math/vec.h:1: a file named vec.h is already at src/env/vec.h"),
    ("src/attic/old.c", "\n", "src/attic/old.c:1: the room 'attic' is not in src/LAYERS"),
    ("src/env/maze.c", "\n\nvoid f(void) { exit (1); }\n", "src/env/maze.c:3: exit() in the library"),
])
def test_a_violation_is_found_with_its_line(tmp_path, name, text, message):
    code, output = check(tmp_path, {**CLEAN, name: text})
    assert code == 1
    assert message in output


def test_exit_in_comments_strings_and_longer_names_is_no_violation(tmp_path):
    text = '/* exit(1)\n exit(2) */\nconst char *s = "exit(3)"; // exit(4)\nvoid on_exit_(int); void maze_exit(void);\n'
    assert check(tmp_path, {**CLEAN, "src/env/maze.c": text})[0] == 0
