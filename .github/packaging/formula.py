"""Writes the Homebrew formula of the archives of all targets: formula.py DIRECTORY."""

import hashlib
import pathlib
import sys

from archives import HOME, SUMMARY, TARGETS, archives

TEMPLATE = pathlib.Path(__file__).with_name("boxproof.rb.in")


def main(directory):
    """Fills the template; an archive that is missing is an error."""
    found = {archive.target: archive for archive in archives(directory)}
    lacking = sorted(TARGETS.keys() - found.keys())
    if lacking:
        raise SystemExit(f"{directory}: no archive of {', '.join(lacking)}")
    version = next(iter(found.values())).version
    text = TEMPLATE.read_text().replace("@SUMMARY@", SUMMARY).replace("@HOME@", HOME).replace("@VERSION@", version)
    for target, archive in found.items():
        digest = hashlib.sha256(archive.path.read_bytes()).hexdigest()
        text = text.replace(f"@{target}@", digest)
    path = pathlib.Path(directory) / "boxproof.rb"
    path.write_text(text)
    print(path)


main(sys.argv[1])
