"""Reads the archives of `archive.sh`, and writes archives that are the same bytes every time."""

import gzip
import io
import os
import pathlib
import re
import tarfile

NAME = re.compile(r"boxproof-(?P<target>.+)-v(?P<version>\d+\.\d+\.\d+[^/]*)\.tgz")
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")
SUMMARY = "Conformance harness and probe suite for command sandboxes"
HOME = "https://github.com/boxproof/boxproof"
LICENCE = "MIT OR Apache-2.0"

# Of each target: the tags of a wheel, and what Node.js calls its system and processor. A static
# program runs with every C library.
TARGETS = {
    "x86_64-unknown-linux-musl": (["manylinux_2_17_x86_64", "musllinux_1_1_x86_64"], "linux", "x64"),
    "aarch64-unknown-linux-musl": (["manylinux_2_17_aarch64", "musllinux_1_1_aarch64"], "linux", "arm64"),
    "x86_64-apple-darwin": (["macosx_14_0_x86_64"], "darwin", "x64"),
    "aarch64-apple-darwin": (["macosx_14_0_arm64"], "darwin", "arm64"),
}


class Archive:
    """One archive: its target, its version, and its files by their names."""

    def __init__(self, path):
        named = NAME.fullmatch(path.name)
        if named is None or named["target"] not in TARGETS:
            raise SystemExit(f"{path}: not boxproof-TARGET-vVERSION.tgz of a target in {__file__}")
        self.path, self.target, self.version = path, named["target"], named["version"]
        with tarfile.open(path) as tar:
            members = [member for member in tar if member.isfile()]
            self.files = {os.path.basename(m.name): tar.extractfile(m).read() for m in members}
        self.tags, self.system, self.processor = TARGETS[self.target]


def archives(directory):
    """The archives of a directory; at least one."""
    found = [Archive(path) for path in sorted(pathlib.Path(directory).glob("boxproof-*-v*.tgz"))]
    if not found or len({archive.version for archive in found}) != 1:
        raise SystemExit(f"{directory}: no boxproof-TARGET-vVERSION.tgz, or several versions")
    return found


def write_tgz(path, files):
    """Writes (name, mode, bytes) as a gzipped tar that holds no time and no owner."""
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, mode, data in files:
                info = tarfile.TarInfo(name)
                info.mode, info.size = mode, len(data)
                tar.addfile(info, io.BytesIO(data))
    print(path)
