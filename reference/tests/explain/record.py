#!/usr/bin/env python3
"""Records the table: runs every line of RUNS in refbox, writes what came of it.

Usage: record.py REFBOX RUNS OUT DIR [blind]   (DIR is made, used and removed; not below /tmp or
/var/tmp, which the command has of its own)

With `blind` nothing is said of what was explained: so are labels given first and compared later.

A line of RUNS: label, policy words, locale, program (sh, dash, bash, zsh or argv), command; tabs in
between. A label is `none` or a rule. The workspace is /w and the directory beside it /o in what is
kept. The files of `files/` beside this script are in the workspace. The policy word `root` has the
run started by root, any other by user 1500.
"""
import json, os, re, shutil, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

refbox, runs, out, base = sys.argv[1:5]
blind = "blind" in sys.argv[5:]
POLICIES = {
    "ww": {}, "ro": {"mode": "read_only"}, "protect": {"protect": "metadata"},
    "git": {"protect": "metadata", "grants": ["git_metadata_write"]},
    "host": {"network": {"host": {}}}, "deny": {"deny_read": ["/w/secret"]},
    "keep": {"deny_write": ["/w/keep"]}, "list": {"readable": ["/w"]}, "root": {},
    "grant": {"writable": ["/o"]}, "domains": {"network": {"domains": {"allow": ["ok.invalid"]}}},
}
FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")


def scene(base):
    ws, beside = f"{base}/w", f"{base}/o"
    shutil.rmtree(base, ignore_errors=True)
    for name in ("secret", "keep", ".git/hooks", ".codex", "sub", "conf", "home"):
        os.makedirs(f"{ws}/{name}")
    os.makedirs(beside)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q", ws], check=True)
    subprocess.run([*git, "init", "-q", f"{ws}/vendor/repo"], check=True)
    for name in ("a", "secret/k", "keep/k", "closed", "vendor/repo/f", "conf/c", "../o/f"):
        open(f"{ws}/{name}", "w").write("text\n")
    shutil.copytree(FILES, ws, dirs_exist_ok=True)
    subprocess.run([*git, "-C", ws, "add", "a"], check=True)
    subprocess.run([*git, "-C", ws, "commit", "-qm", "one"], check=True)
    os.chmod(f"{ws}/closed", 0)
    os.symlink(beside, f"{ws}/link")
    os.symlink("conf", f"{ws}/.vscode")
    os.makedirs(f"{ws}/wt")
    open(f"{ws}/wt/.git", "w").write(f"gitdir: {ws}/.git/worktrees/wt\n")
    for path, names, files in os.walk(base):
        for name in [".", *names, *files]:
            os.chown(f"{path}/{name}", 1500, 1500, follow_symlinks=False)
    return ws, beside


def record(number, line):
    label, words, locale, program, command = line.rstrip("\n").split("\t")
    here_base = f"{base}/{number:04d}"
    ws, beside = scene(here_base)
    policy = {"workspace": "/w"}
    for word in words.split(","):
        policy.update(POLICIES[word])
    names = {"/w": ws, "/o": beside}
    here = lambda text: re.sub(r"(?<![\w./-])/[wo](?![\w.-])", lambda m: names[m[0]], text)
    argv = {"argv": ["sh", "-c"]}.get(program, [program, "-c"])
    real = json.loads(here(json.dumps(policy)))
    real["env"] = {"set": {"LC_ALL": locale, "HOME": beside, "TMPDIR": "/tmp"}}
    request = {"protocol": 1, "policy": real, "run": {"command": {"argv": argv + [here(command)]},
               "cwd": ws, "capture": True, "timeout_ms": 60000}}
    io = here_base + ".io"
    shutil.rmtree(io, ignore_errors=True)
    os.makedirs(io)
    json.dump(request, open(io + "/q", "w"))
    os.chown(io, 1500, 1500)
    user = [] if "root" in words else ["setpriv", "--reuid=1500", "--regid=1500", "--clear-groups"]
    subprocess.run([*user, *refbox.split(), "run", "--request", io + "/q", "--result", io + "/r"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    result = json.load(open(io + "/r"))
    rule = (result["blocked"] or {}).get("rule", "none")
    back = lambda text: (text or "").replace(ws, "/w").replace(beside, "/o")
    kept = {"label": label, "policy": policy, "locale": locale, "argv": argv + [command],
            "exit": result["exit_code"], "signal": result["signal"],
            "stdout": back(result.get("stdout"))[:2000], "stderr": back(result.get("stderr"))[:4000]}
    if "refused_routes" in result:
        kept["refused_routes"] = result["refused_routes"]
    if "root" in words:
        kept["root"] = True
    if result["exit_code"] in (0, None) or result["error"]:
        print(f"ended with {result['exit_code']}: {command}: {result['error']}")
    if rule != label and not blind:
        print(f"{rule} instead of {label}: {command}: {result.get('stderr')!r} {result['blocked']}")
    shutil.rmtree(here_base, ignore_errors=True)
    shutil.rmtree(io, ignore_errors=True)
    return kept


lines = [line for line in open(runs, encoding="utf-8") if line.strip() and not line.startswith("#")]
os.makedirs(base, exist_ok=True)
os.chmod(base, 0o755)
with ThreadPoolExecutor(4) as pool:
    kept = list(pool.map(record, range(len(lines)), lines))
shutil.rmtree(base, ignore_errors=True)
with open(out, "w", encoding="utf-8") as file:
    for one in kept:
        file.write(json.dumps(one, ensure_ascii=False) + "\n")
print(f"{len(kept)} runs")
