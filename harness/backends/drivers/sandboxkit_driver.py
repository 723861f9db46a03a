"""sandboxkit as a backend: its namespaces, and a Landlock ruleset for what can be written."""

import os

import driver
import sandboxkit
from landlockpy import AccessFS, AccessNet, Ruleset

READ = AccessFS.EXECUTE | AccessFS.READ_FILE | AccessFS.READ_DIR
OF_FILES = AccessFS.EXECUTE | AccessFS.READ_FILE | AccessFS.WRITE_FILE | AccessFS.TRUNCATE


def run(policy, run, command, env, roots):
    rules = Ruleset(handled_net=AccessNet.NONE)  # The network is a namespace's business.
    rules.allow_path("/", READ & rules.handled_fs)
    for root in roots:
        rules.allow_path(root, rules.handled_fs if os.path.isdir(root) else OF_FILES & rules.handled_fs)
    for device in ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty"):
        if os.path.exists(device):
            rules.allow_path(device, AccessFS.READ_FILE | AccessFS.WRITE_FILE)
    spaces = sandboxkit.Namespace
    wanted = spaces.USER | spaces.MOUNT | spaces.PID | spaces.IPC | spaces.UTS
    if "none" in policy["network"]:
        wanted |= spaces.NET
    box = sandboxkit.Sandbox(namespaces=wanted, strict=True, mount_proc=True, landlock=rules,
                             capture=False, env=env, cwd=run["cwd"])
    try:
        result = box.run_argv(command)
    except sandboxkit.SandboxError as error:
        return driver.unstarted(126, "setup", str(error))
    if result.errno and result.returncode:
        return driver.unstarted(127 if result.errno == 2 else 126, "spawn", os.strerror(result.errno))
    return driver.ended(-result.signal if result.signal else result.returncode)


driver.serve(
    "sandboxkit", "namespaces",
    {"fs.write": "enforced", "fs.read_only": "enforced", "fs.extra_write_roots": "enforced",
     "net.none": "enforced", "net.host": "enforced", "proc.isolated": "enforced",
     "kernel.no_new_privs": "enforced", "unix_socket.abstract": "partial",
     "env.inherit": "enforced", "exec.exit_code": "enforced", "exec.signal_code": "partial",
     "exec.streams": "enforced", "exec.argv": "enforced", "supervise.tree_dead": "partial"},
    ["The command is uid 0 of its own user namespace.",
     "What ends the calling process does not end what it has started.",
     "Abstract unix sockets are out of reach only while the network is."],
    run,
)
