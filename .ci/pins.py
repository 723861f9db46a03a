"""Checks that every action is pinned by hash at a major that is not past, that no image is gone, and
that each cell of the grid names a build that there is: pins.py DIRECTORY."""

import json
import pathlib
import re
import sys

# The majors of November 2026; an action that is not listed needs a line.
MAJORS = {
    "actions/checkout": 7,
    "actions/upload-artifact": 7,
    "actions/download-artifact": 8,
    "actions/attest-build-provenance": 4,
    "actions/upload-pages-artifact": 5,
    "actions/deploy-pages": 5,
    "rust-lang/crates-io-auth-action": 1,
}
GONE = re.compile(r"\b(ubuntu-20\.04|macos-1[1-4]|windows-2019)\b")
USES = re.compile(r"^\s*(?:- )?uses: *(\S+?)(?:@(\S+))?(?: +# v(\d+)\S*)?$")

root = pathlib.Path(sys.argv[1])
faults = []
for file in sorted([*root.glob("workflows/*.yml"), *root.glob("actions/*/action.yml"), root / "grid.json"]):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        place = f"{file}:{number}"
        if GONE.search(line):
            faults.append(f"{place}: an image that is no longer served: {line.strip()}")
        found = USES.match(line)
        if not found or found[1].startswith("./"):
            continue
        name, commit, major = found.groups()
        if not re.fullmatch(r"[0-9a-f]{40}", commit or ""):
            faults.append(f"{place}: {name} is not pinned by a commit")
        if name not in MAJORS:
            faults.append(f"{place}: {name} has no line in .ci/pins.py")
        elif major is None or int(major) < MAJORS[name]:
            faults.append(f"{place}: {name} is older than v{MAJORS[name]}, or does not say its version")

grid = json.loads((root / "grid.json").read_text())
targets = {build["target"] for build in grid["builds"]}
faults += [f"grid: {cell['name']} is of no build" for cell in grid["cells"] if cell["target"] not in targets]
names = [cell["name"] for cell in grid["cells"]]
faults += [f"grid: {name} stands there twice" for name in set(names) if names.count(name) > 1]
print("\n".join(faults) or "the pins hold")
sys.exit(bool(faults))
