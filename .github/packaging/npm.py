"""Writes the npm packages of a directory's archives: npm.py DIRECTORY. One package a system holds the
program; `boxproof` depends on all of them, npm installs the one that fits, and a script starts it."""

import json
import pathlib
import sys

from archives import HOME, LICENCE, LICENCES, SUMMARY, TARGETS, archives, write_tgz

LAUNCHER = b"""#!/usr/bin/env node
// Starts the program of this system's package, and ends as it ends.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `@boxproof/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/boxproof`);
} catch {
  console.error(`boxproof: there is no ${name}: install it with optional dependencies, or build from source`);
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal's signals reach the program by itself; others are passed on.
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`boxproof: ${program}: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
"""


def manifest(version, **fields):
    """A package.json with what all packages have in common."""
    common = {"version": version, "description": SUMMARY, "license": LICENCE,
              "repository": {"type": "git", "url": f"git+{HOME}.git"}}
    return json.dumps(fields | common, indent=2).encode() + b"\n"


def write(directory, stem, package_json, files):
    """Writes a package as npm packs it: below `package/`."""
    files = [("package.json", 0o644, package_json), *files]
    write_tgz(pathlib.Path(directory) / f"{stem}.tgz", [(f"package/{name}", mode, data) for name, mode, data in files])


def main(directory):
    """Writes one package for each archive, and the one that depends on those of every target."""
    found = archives(directory)
    for archive in found:
        system = f"{archive.system}-{archive.processor}"
        package_json = manifest(archive.version, name=f"@boxproof/{system}", os=[archive.system],
                                cpu=[archive.processor])
        texts = [(name, 0o644, archive.files[name]) for name in LICENCES]
        program = ("boxproof", 0o755, archive.files["boxproof"])
        write(directory, f"npm-boxproof-{system}-{archive.version}", package_json, [program, *texts])
    first, version = found[0], found[0].version
    every = {f"@boxproof/{system}-{processor}": version for _, system, processor in TARGETS.values()}
    package_json = manifest(version, name="boxproof", bin={"boxproof": "boxproof.js"}, engines={"node": ">=18"},
                            optionalDependencies=every)
    texts = [(name, 0o644, first.files[name]) for name in ("README.md", *LICENCES)]
    write(directory, f"npm-boxproof-{version}", package_json, [("boxproof.js", 0o755, LAUNCHER), *texts])


main(sys.argv[1])
