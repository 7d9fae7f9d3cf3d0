"""Mutants of statements and definitions: wrong constants, dropped terms, ignored ties. Each must fail to prove.

`mutants.toml` has a pair of texts for each. The changed file and those that require it are compiled in a temporary copy
of `build/prove`, which `make prove` leaves, until one of them fails. A mutant that is proved after all is an error. So
is one that is no Coq text, and one whose old text does not occur exactly once.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from checked import prove, statements

MUTANTS = statements.FOLDER / "mutants.toml"
LEAST = 20
LIMIT = 60
"""Seconds for a file of a mutant: a proof that does not end by then has failed."""
MALFORMED = re.compile(r"Syntax error|Lexer|was not found in the current|Unable to locate|Cannot find|No such")


def affected(name: str) -> list[str]:
    """Return the file and all that require it, in the order of compilation."""
    of, found = statements.files(prove.BUILD), {name}
    for other in prove.order(prove.BUILD):
        if found & set(of[other].required):
            found.add(other)
    return [other for other in prove.order(prove.BUILD) if other in found]


def verdict(mutant: dict[str, str], folder: Path) -> str:
    """Return where the mutant fails. Raise `Failure` where it does not, or is malformed."""
    name = mutant["file"].removesuffix(".v")
    path = folder / f"{name}.v"
    text = path.read_text(encoding="utf-8")
    if text.count(mutant["old"]) != 1:
        raise prove.Failure(f"the old text occurs {text.count(mutant['old'])} times")
    path.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
    for other in affected(name):
        try:
            prove.compile_file(other, folder, LIMIT)
        except prove.Failure as failure:
            if MALFORMED.search(str(failure)):
                raise prove.Failure(f"no Coq text: {failure}") from None
            line = re.search(r"line (\d+)", str(failure))
            return f"{other}.v" + (f", line {line[1]}" if line else " (time limit)")
    raise prove.Failure("it is PROVED. The theorem does not say what it should, or the mutant is harmless")


def main() -> int:
    mutants = tomllib.loads(MUTANTS.read_text(encoding="utf-8"))["mutant"]
    begun, wrong = time.perf_counter(), 0
    try:
        prove.require_tools()
    except prove.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    stale = [
        name
        for name in statements.files()
        if not (prove.BUILD / f"{name}.vo").exists()
        or (prove.BUILD / f"{name}.v").read_bytes() != (statements.FOLDER / f"{name}.v").read_bytes()
    ]
    if stale:
        print(f"{prove.BUILD} is not up to date: {', '.join(stale)}. Run `make prove` first.", file=sys.stderr)
        return 1
    for mutant in mutants:
        with tempfile.TemporaryDirectory(prefix="pcqr-mutant-") as place:
            folder = Path(place) / "prove"
            shutil.copytree(prove.BUILD, folder)
            try:
                print(f"  fails in {verdict(mutant, folder)}: {mutant['file']}, {mutant['what']}", flush=True)
            except prove.Failure as failure:
                wrong += 1
                print(f"  ERROR {mutant['file']}, {mutant['what']}: {failure}", flush=True)
    print(f"{len(mutants)} mutants, {wrong} errors ({time.perf_counter() - begun:.0f} s).")
    if len(mutants) < LEAST:
        print(f"Fewer than {LEAST} mutants.")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
