"""nono-py as a backend: the whole tree readable, writing below the roots, the network blocked."""

import os

import driver
from nono_py import AccessMode, CapabilitySet, apply, apply_seccomp


def confine(policy, roots):
    caps = CapabilitySet()
    caps.allow_path("/", AccessMode.READ)
    for root in roots:
        allow = caps.allow_path if os.path.isdir(root) else caps.allow_file
        allow(root, AccessMode.READ_WRITE)
    for device in ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty"):
        if os.path.exists(device):
            caps.allow_file(device, AccessMode.READ_WRITE)
    if "host" in policy["network"]:
        return apply(caps)
    caps.block_network()
    # `apply` blocks TCP alone where Landlock can; its manual names this one for UDP and raw sockets.
    return apply_seccomp(caps)


driver.serve(
    "nono-py", "landlock",
    {"fs.write": "enforced", "fs.read_only": "enforced", "fs.extra_write_roots": "enforced",
     "net.none": "enforced", "net.host": "enforced", "kernel.no_new_privs": "enforced",
     "env.inherit": "enforced", "exec.exit_code": "enforced", "exec.signal_code": "enforced",
     "exec.streams": "enforced", "exec.argv": "enforced", "exec.not_found": "enforced",
     "supervise.term_reaches_command": "enforced"},
    ["A grant is for reading, for writing or for both; nothing within a grant is taken away again."],
    driver.in_child(confine),
)
