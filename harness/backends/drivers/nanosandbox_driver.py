"""nanosandbox as a backend: its own runner, which captures what the command writes."""

import os
import sys

import driver
from nanosandbox import GB, Sandbox


def run(policy, run, command, env, roots):
    box = Sandbox.builder().working_dir(run["cwd"]).clear_env(True).max_output(1 * GB)
    box = box.uid(os.getuid()).gid(os.getgid())
    for name, value in env.items():
        box = box.env(name, value)
    for root in roots:
        box = box.writable(root)
    for path in policy["deny_read"]:
        box = box.deny_read(path)
    box = box.host_network() if "host" in policy["network"] else box.no_network()
    if policy["tmp"] != "private":
        box = box.no_private_tmp()
    given = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    try:
        result = box.build().run_with_input(command[0], command[1:], given)
    except Exception as error:
        print(f"driver: {error}", file=sys.stderr)
        missing = "not found" in str(error).lower()
        return driver.unstarted(127 if missing else 126, "spawn" if missing else "setup", str(error))
    for stream, text in ((sys.stdout, result.stdout), (sys.stderr, result.stderr)):
        stream.buffer.write(text if isinstance(text, bytes) else text.encode())
        stream.flush()
    return driver.ended(-result.signal if result.signal else result.exit_code)


driver.serve(
    "nanosandbox", "namespaces",
    {"fs.write": "enforced", "fs.read_only": "enforced", "fs.extra_write_roots": "enforced",
     "fs.read_deny": "enforced", "tmp.private": "enforced", "net.none": "enforced",
     "net.host": "enforced", "proc.isolated": "enforced", "kernel.no_new_privs": "enforced",
     "env.inherit": "enforced", "exec.exit_code": "enforced", "exec.signal_code": "enforced",
     "exec.argv": "enforced"},
    ["What the command writes is captured, and handed on when it has ended."],
    run, knows=("deny_read",),
)
