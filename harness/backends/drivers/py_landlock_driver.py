"""py-landlock as a backend: reading everywhere, writing below the roots, no TCP."""

import os

import driver
from py_landlock import AccessFs, Landlock


def confine(policy, roots):
    rules = Landlock(strict=False)
    rules.allow_read("/").allow_execute("/")
    of_files = AccessFs.READ_FILE | AccessFs.WRITE_FILE | AccessFs.TRUNCATE | AccessFs.EXECUTE
    for root in roots:
        rules.add_path_rule(root, access=AccessFs(sum(AccessFs)) if os.path.isdir(root) else of_files)
    for device in ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty"):
        if os.path.exists(device):
            rules.add_path_rule(device, access=AccessFs.READ_FILE | AccessFs.WRITE_FILE)
    if "host" in policy["network"]:
        rules.allow_all_network().allow_all_scope()
    rules.apply()


driver.serve(
    "py-landlock", "landlock",
    {"fs.write": "enforced", "fs.read_only": "enforced", "fs.extra_write_roots": "enforced",
     "net.none": "partial", "net.host": "enforced", "unix_socket.abstract": "enforced",
     "kernel.no_new_privs": "enforced", "env.inherit": "enforced", "exec.exit_code": "enforced",
     "exec.signal_code": "enforced", "exec.streams": "enforced", "exec.argv": "enforced",
     "exec.not_found": "enforced", "supervise.term_reaches_command": "enforced"},
    ["Only TCP bind and connect are restricted; UDP, ICMP and other protocols are not."],
    driver.in_child(confine),
)
