"""Check the theorems of this folder and compare the extracted definitions with the library: `make prove`.

Build every file within a time limit. Compare the axioms of each theorem with `assumptions.txt`. Have `coqchk` check the
compiled files by itself. Extract, compile and compare. What is built goes to `build/prove`. With `--write` the
assumptions found are written, not compared. With `--missing` the packages that are missing are listed, no more.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from checked import compare, statements

BUILD = statements.FOLDER.parent / "build" / "prove"
ASSUMPTIONS = statements.FOLDER / "assumptions.txt"
LIMIT = 120
"""Seconds for one file. The longest takes 10."""
CHECK_LIMIT = 400
ALLOWED = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
"""The axioms of Coq's reals, functional extensionality, and the excluded middle."""
FORBIDDEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Guard Checking|Positivity Checking|bypass_check"
    r"|Universe Checking|type-in-type|impredicative-set|vm_cast_no_check|native_cast_no_check|exact_no_check)\b"
)
UNCHECKED = ("Constants/Inductives", "Inductives")
TOOLS = {"coqc": "coq", "coqchk": "coq", "ocamlopt": "ocaml"}


class Failure(Exception):
    """A step that did not succeed: what, and what to do."""


def missing() -> list[str]:
    """Return the Debian packages that have to be installed first."""
    packages = {package for tool, package in TOOLS.items() if not shutil.which(tool)}
    if shutil.which("coqc"):
        where = Path(subprocess.run(["coqc", "-where"], capture_output=True, text=True, check=True).stdout.strip())
        if not (where / "user-contrib" / "Coquelicot").is_dir():
            packages.add("libcoq-coquelicot")
    else:
        packages.add("libcoq-coquelicot")
    return sorted(packages)


def order(folder: Path) -> list[str]:
    """Return the files of the folder without `.v`, each after those that it requires."""
    of, placed = statements.files(folder), list[str]()

    def place(name: str) -> None:
        for other in of[name].required:
            if other not in placed:
                place(other)
        if name not in placed:
            placed.append(name)

    for name in of:
        place(name)
    return placed


def compile_file(name: str, folder: Path, limit: int = LIMIT) -> str:
    """Compile one file and return what Coq says. Raise `Failure` with its error, or if it takes too long."""
    command = ["coqc", "-q", "-w", "none", "-R", ".", "pcqr", f"{name}.v"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise Failure(f"{name}.v: not proved within {limit} seconds.") from None
    if done.returncode:
        raise Failure(f"{name}.v is not proved.\n{done.stderr.strip()}")
    return done.stdout


def build(names: list[str], folder: Path) -> None:
    """Compile these files, in this order."""
    for name in names:
        begun = time.perf_counter()
        compile_file(name, folder)
        print(f"  {name}.v ({time.perf_counter() - begun:.1f} s)", flush=True)


def assumptions(folder: Path) -> dict[str, list[str]]:
    """Return the axioms that each theorem rests on, as `Print Assumptions` says."""
    theorems = statements.theorems(folder)
    lines = [
        f"From pcqr Require {' '.join(statements.files(folder))}.",
        *(f"Print Assumptions pcqr.{name}." for name in theorems),
    ]
    (folder / "Assumptions.v").write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = compile_file("Assumptions", folder, CHECK_LIMIT)
    parts = re.split(r"^(?=Closed under the global context|Axioms:)", said, flags=re.MULTILINE)[1:]
    if len(parts) != len(theorems):
        raise Failure(f"Print Assumptions answers {len(parts)} times to {len(theorems)} theorems.")
    axioms = (re.findall(r"^([\w.]+)(?= :|$)", part, re.MULTILINE) for part in parts)
    return {
        name: sorted(axiom for axiom in found if axiom != "Axioms")
        for name, found in zip(theorems, axioms, strict=True)
    }


def as_text(found: dict[str, list[str]]) -> str:
    return "".join(f"{name}: {', '.join(axioms) or 'none'}\n" for name, axioms in found.items())


def check_assumptions(folder: Path, write: bool) -> None:
    found = assumptions(folder)
    if beyond := {axiom for axioms in found.values() for axiom in axioms} - ALLOWED:
        raise Failure(f"Axioms that are not allowed: {', '.join(sorted(beyond))}.")
    if write:
        ASSUMPTIONS.write_text(as_text(found), encoding="utf-8")
    listed = ASSUMPTIONS.read_text(encoding="utf-8")
    if listed != as_text(found):
        changed = sorted(set(listed.splitlines()) ^ set(as_text(found).splitlines()))
        raise Failure(
            "Theorems or their assumptions are not those of checked/assumptions.txt:\n  "
            + "\n  ".join(changed)
            + "\nRead why, then write them anew: python -m checked.prove --write"
        )
    print(f"  {len(found)} theorems, {sum(not axioms for axioms in found.values())} of them without any axiom.")


def check_words() -> None:
    for path in sorted(statements.FOLDER.glob("*.v")):
        if found := FORBIDDEN.search(statements.without_comments(path.read_text(encoding="utf-8"))):
            raise Failure(f"{path.name} has the word {found[0]!r}. State a hypothesis, or prove it.")


def check_project() -> None:
    listed = (statements.FOLDER / "_CoqProject").read_text(encoding="utf-8").split()
    if absent := {f"{name}.v" for name in statements.files()} ^ {name for name in listed if name.endswith(".v")}:
        raise Failure(f"checked/_CoqProject and the files of checked/ differ: {', '.join(sorted(absent))}.")


def check_compiled(folder: Path) -> None:
    names = [f"pcqr.{name}" for name in statements.files(folder)]
    command = ["coqchk", "-silent", "-o", "-R", ".", "pcqr", *names]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=CHECK_LIMIT, check=False)
    said = done.stdout + done.stderr
    if done.returncode:
        raise Failure(f"coqchk refuses the compiled files.\n{said[-2000:]}")
    parts = re.findall(r"^\* ([^:\n]+):(.*?)(?=^\* |\Z)", said, re.MULTILINE | re.DOTALL)
    summary = {title: set(items.split()) for title, items in parts}
    if len(summary) < 5:
        raise Failure(f"coqchk's summary is not understood.\n{said[-2000:]}")
    axioms = {axiom.removeprefix("Coq.Logic.").removeprefix("Coq.Reals.") for axiom in summary["Axioms"]} - {"<none>"}
    if axioms - ALLOWED:
        raise Failure(f"coqchk finds axioms that are not allowed: {', '.join(sorted(axioms - ALLOWED))}.")
    if unchecked := [title for title, items in summary.items() if title.startswith(UNCHECKED) and items != {"<none>"}]:
        raise Failure(f"coqchk finds something that was not checked: {', '.join(unchecked)}.")


def program(folder: Path) -> Path:
    """Compile what `Extract.v` extracted, and its driver."""
    command = ["ocamlopt", "-w", "-a", "-o", "reference", "reference.mli", "reference.ml", "driver.ml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode:
        raise Failure(f"The extracted definitions and driver.ml do not compile.\n{done.stderr}")
    return folder / "reference"


def copied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in [*statements.FOLDER.glob("*.v"), statements.FOLDER / "driver.ml"]:
        shutil.copy(path, folder)


def require_tools() -> None:
    if packages := missing():
        raise Failure(
            f"The proofs were NOT checked. Missing: {', '.join(packages)}. "
            f"On Debian or Ubuntu: apt-get install --no-install-recommends {' '.join(packages)}"
        )


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--write"], ["--missing"]):
        print("usage: python -m checked.prove [--write | --missing]", file=sys.stderr)
        return 2
    if arguments == ["--missing"]:
        print(*missing())
        return 0
    begun = time.perf_counter()
    try:
        require_tools()
        check_words()
        check_project()
        copied(BUILD)
        print("Coq proves:")
        build(order(BUILD), BUILD)
        print("Assumptions:")
        check_assumptions(BUILD, write=bool(arguments))
        print("coqchk checks the compiled files:", flush=True)
        check_compiled(BUILD)
        print(
            "  They are accepted, with no axiom beyond those allowed.\nExtracted definitions and the library:",
            flush=True,
        )
        if compare.compared(program(BUILD), LIMIT):
            raise Failure("The extracted definitions and the library differ.")
    except (Failure, subprocess.TimeoutExpired) as failure:
        print(failure, file=sys.stderr)
        return 1
    print(f"The listed theorems are machine-checked ({time.perf_counter() - begun:.0f} s).")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
