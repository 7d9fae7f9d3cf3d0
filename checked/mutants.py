"""Mutants of statements and definitions: wrong constants, dropped terms, ignored ties. Each must fail to prove.

`mutants.toml` has a pair of texts for each. All files are compiled once, unless `make prove` did. For each mutant, the
changed file and those that require it are compiled in a temporary copy until one of them fails. A mutant that is proved
after all is an error. So is one that is no Coq text, and one whose old text does not occur exactly once.

Names of files, such as `Votes.v`, choose the mutants of these.
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
BUILD = prove.BUILD.with_name("prove-mutants")
LEAST = 20
LIMIT = 60
"""Seconds for a file of a mutant: a proof that does not end by then has failed."""
MALFORMED = re.compile(r"Syntax error|Lexer|was not found in the current|Cannot find a physical path")


def affected(name: str) -> list[str]:
    """Return the file and all that require it, in the order of compilation."""
    of, found = statements.files(BUILD), {name}
    for other in prove.order(BUILD):
        if found & set(of[other].required):
            found.add(other)
    return [other for other in prove.order(BUILD) if other in found]


def is_built() -> bool:
    """Whether `make prove` has left every file compiled as it is."""
    return all(
        (prove.BUILD / f"{path.stem}.vo").exists() and (prove.BUILD / path.name).read_bytes() == path.read_bytes()
        for path in statements.FOLDER.glob("*.v")
    )


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


def main(chosen: list[str]) -> int:
    mutants = tomllib.loads(MUTANTS.read_text(encoding="utf-8"))["mutant"]
    mutants = [mutant for mutant in mutants if not chosen or mutant["file"] in chosen]
    begun, wrong = time.perf_counter(), 0
    try:
        prove.require_tools()
        if is_built():
            shutil.rmtree(BUILD, ignore_errors=True)
            shutil.copytree(prove.BUILD, BUILD)
        else:
            prove.copied(BUILD)
            print("Coq proves:")
            prove.build(prove.order(BUILD), BUILD)
    except prove.Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    print("Mutants:")
    for mutant in mutants:
        with tempfile.TemporaryDirectory(prefix="pcqr-mutant-") as place:
            folder = Path(place) / "prove"
            shutil.copytree(BUILD, folder)
            try:
                print(f"  fails in {verdict(mutant, folder)}: {mutant['file']}, {mutant['what']}", flush=True)
            except prove.Failure as failure:
                wrong += 1
                print(f"  ERROR {mutant['file']}, {mutant['what']}: {failure}", flush=True)
    print(f"{len(mutants)} mutants, {wrong} errors ({time.perf_counter() - begun:.0f} s).")
    if not chosen and len(mutants) < LEAST:
        print(f"Fewer than {LEAST} mutants.")
        return 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
