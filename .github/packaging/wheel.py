"""Writes a wheel for each archive of a directory: wheel.py DIRECTORY. A wheel holds the program only."""

import base64
import hashlib
import pathlib
import sys
import zipfile

from archives import HOME, LICENCE, LICENCES, SUMMARY, archives


def metadata(archive):
    """The core metadata, version 2.4, with the README as the description."""
    fields = ["Metadata-Version: 2.4", "Name: boxproof", f"Version: {archive.version}", f"Summary: {SUMMARY}",
              f"License-Expression: {LICENCE}", *(f"License-File: {name}" for name in LICENCES),
              f"Project-URL: Repository, {HOME}", "Requires-Python: >=3.7",
              "Description-Content-Type: text/markdown"]
    return "\n".join(fields).encode() + b"\n\n" + archive.files["README.md"]


def wheel(archive, directory):
    """Writes the wheel; its names and digests are those of the binary distribution format."""
    stem = f"boxproof-{archive.version}"
    info = f"{stem}.dist-info"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in archive.tags)
    files = [(f"{stem}.data/scripts/boxproof", 0o755, archive.files["boxproof"]),
             *((f"{info}/licenses/{name}", 0o644, archive.files[name]) for name in LICENCES),
             (f"{info}/METADATA", 0o644, metadata(archive)),
             (f"{info}/WHEEL", 0o644,
              f"Wheel-Version: 1.0\nGenerator: boxproof\nRoot-Is-Purelib: false\n{tags}".encode())]
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, _, data in files)
    files.append((f"{info}/RECORD", 0o644, f"{record}{info}/RECORD,,\n".encode()))
    path = pathlib.Path(directory) / f"{stem}-py3-none-{'.'.join(archive.tags)}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, mode, data in files:
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            out.writestr(entry, data)
    print(path)


for found in archives(sys.argv[1]):
    wheel(found, sys.argv[1])
