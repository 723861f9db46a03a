"""Inspects a program without running it: binary.py TARGET FILE. A Linux program must be static and linked
at a fixed address; a macOS program must be of the right processor, start on macOS 14, and need libraries
of the system only."""

import struct
import sys

OLDEST_MACOS = (14, 0)
ELF_FIXED = 2
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
MACHO_CPUS = {"x86_64": 0x01000007, "aarch64": 0x0100000C}
# Load commands: libraries (also weak, re-exported, lazy, upward), the oldest system by its two names,
# and the code signature.
LIBRARIES = {0x0C, 0x80000018, 0x8000001F, 0x20, 0x80000023}
VERSION_MIN, BUILD_VERSION, CODE_SIGNATURE = 0x24, 0x32, 0x1D


def elf(data, processor):
    """Says what keeps an ELF file from being a static program of this processor."""
    if data[:5] != b"\x7fELF\x02":
        return ["not a 64-bit ELF file"]
    kind, machine = struct.unpack_from("<HH", data, 16)
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<I", data, start + n * size)[0] for n in range(count)]
    print(f"ELF type {kind}, machine {machine}, interpreter: {'yes' if 3 in headers else 'none'}")
    found = [] if machine == ELF_MACHINES[processor] else [f"its machine is {machine}"]
    found += [] if kind == ELF_FIXED else ["it is relocated at every start"]
    return found + (["it needs a dynamic linker"] if 3 in headers else [])


def load_commands(data):
    """The load commands of a Mach-O file as (command, bytes)."""
    count, place = struct.unpack_from("<I", data, 16)[0], 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, place)
        yield command, data[place:place + size]
        place += size


def macho(data, processor):
    """Says what keeps a Mach-O file from being a program of this processor for every served macOS."""
    if data[:4] != b"\xcf\xfa\xed\xfe":
        return ["not a 64-bit Mach-O file"]
    cpu, _, kind = struct.unpack_from("<III", data, 4)
    found = [] if (cpu, kind) == (MACHO_CPUS[processor], 2) else [f"processor {cpu:#x}, kind {kind}"]
    oldest, libraries, signed = None, [], False
    for command, body in load_commands(data):
        if command in LIBRARIES:
            libraries.append(body[struct.unpack_from("<I", body, 8)[0]:].split(b"\0")[0].decode())
        elif command in (VERSION_MIN, BUILD_VERSION):
            number = struct.unpack_from("<I", body, 12 if command == BUILD_VERSION else 8)[0]
            oldest = (number >> 16, number >> 8 & 0xFF)
        signed |= command == CODE_SIGNATURE
    print(f"Mach-O processor {cpu:#x}, oldest macOS {oldest}, signature {signed}, libraries {libraries}")
    if oldest is None or oldest > OLDEST_MACOS:
        found.append(f"the oldest macOS is {oldest}, not {OLDEST_MACOS}")
    foreign = [name for name in libraries if not name.startswith(("/usr/lib/", "/System/Library/"))]
    found += [f"{name} is no library of the system" for name in foreign]
    # macOS starts no unsigned program on its own processors.
    return found + (["it has no signature"] if processor == "aarch64" and not signed else [])


def main(target, path):
    """Prints what is found, and fails on faults."""
    with open(path, "rb") as file:
        data = file.read()
    processor = target.split("-")[0]
    faults = macho(data, processor) if target.endswith("-apple-darwin") else elf(data, processor)
    for fault in faults:
        print(f"{path}: {fault}", file=sys.stderr)
    sys.exit(bool(faults))


main(*sys.argv[1:])
