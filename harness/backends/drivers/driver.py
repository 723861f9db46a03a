"""The backend protocol around a Python library that confines.

A driver names what the library claims and hands over one function; every member of a policy that it
has no words for is declined, so that nothing is dropped in silence.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from importlib.metadata import version

# The values that need no word of the library. What differs is declined, unless the driver knows it.
PLAIN = {
    "readable": "all", "deny_read": [], "deny_write": [], "deny_read_globs": [],
    "deny_write_globs": [], "reopen": [], "protect": "none", "unix_sockets": [],
}
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def declined(policy, run, knows):
    names = [name for name, value in PLAIN.items() if name not in knows and policy.get(name, value) != value]
    if policy["mode"] == "unconfined":
        names.append("mode")
    if policy["network"] not in ({"none": {}}, {"host": {}}):
        names.append("network")
    if policy["env"]["base"] != "inherit":
        names.append("env")
    absent = [path for path in policy["writable"] if not os.path.exists(path)]
    names += [f"writable: {path}, which does not exist, or leads nowhere or in a loop" for path in absent]
    return names + [name for name in ("capture", "timeout_ms") if run[name]]


def write_roots(policy, env):
    """The directories that can be written, and the temp directory made for this run, if any."""
    roots = [] if policy["mode"] == "read_only" else [policy["workspace"], *policy["writable"]]
    if policy["tmp"] == "host":
        return roots + ["/tmp", env.get("TMPDIR", "/tmp")], None
    if policy["tmp"] == "none":
        return roots, None
    made = tempfile.mkdtemp(prefix="driver-")
    env["TMPDIR"] = made
    return roots + [made], made


def unstarted(code, kind, message):
    return code, {"started": False, "success": False, "error": {"kind": kind, "message": message}}


def pass_on(pid):
    def handler(number, _):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    for number in PASSED_ON:
        signal.signal(number, handler)


def in_child(confine):
    """Makes a runner of `confine(policy, roots)`, which confines the process that calls it."""

    def run(policy, run, command, env, roots):
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            failed = ("setup", 126)
            try:
                os.chdir(run["cwd"])
                confine(policy, roots)
                failed = ("spawn", 127)
                os.execvpe(command[0], command, env)
            except BaseException as error:  # The child must not return into the caller's code.
                code = 126 if isinstance(error, PermissionError) else failed[1]
                os.write(tell, json.dumps([failed[0], code, str(error)]).encode())
            os._exit(126)
        os.close(tell)
        pass_on(pid)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        failure = os.read(told, 65536)
        if failure:
            kind, code, message = json.loads(failure)
            print(f"driver: {message}", file=sys.stderr)
            return unstarted(code, kind, message)
        return ended(status)

    return run


def ended(status):
    if status < 0:
        return 128 - status, {"started": True, "success": False, "signal": -status}
    return status, {"started": True, "success": status == 0, "exit_code": status}


def serve(package, mechanism, claims, limits, runner, knows=()):
    if sys.argv[1:2] == ["capabilities"]:
        print(json.dumps({"protocol": 1, "name": package, "version": version(package),
                          "mechanism": mechanism, "mechanisms": [mechanism], "claims": claims,
                          "limits": limits}))
        return
    files = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    with open(files["--request"]) as request:
        asked = json.load(request)
    code, result = answer(package, asked["policy"], asked["run"], runner, knows)
    result = {"protocol": 1, "mechanism": mechanism, "exit_code": None, **result}
    with open(files["--result"] + ".new", "w") as file:
        json.dump(result, file)
    os.rename(files["--result"] + ".new", files["--result"])
    sys.exit(code)


def answer(package, policy, run, runner, knows):
    if names := declined(policy, run, knows):
        return unstarted(126, "unsupported", f"{package} has no words for {', '.join(names)}")
    # Python ignores the first two, and what is ignored stays so in the command; children of a process
    # that ignores the last one cannot be waited for.
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    env = os.environ | policy["env"]["set"]
    command = run["command"].get("argv") or ["/bin/sh", "-c", run["command"]["shell"]]
    roots, made = write_roots(policy, env)
    try:
        return runner(policy, run, command, env, roots)
    finally:
        if made:
            shutil.rmtree(made, ignore_errors=True)
