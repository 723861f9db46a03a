#!/usr/bin/env python3
"""Records the table: runs every line of runs.tsv in refbox, writes what came of it.

Usage: record.py REFBOX RUNS OUT FOLDER [blind]   (FOLDER is made, used and removed; not below /tmp)

With `blind` nothing is said of what was explained: so are labels given first and compared later.

A line of RUNS: label, policy words, locale, program (sh, dash, bash, zsh or argv), command; tabs in
between. A label is `none` or a rule. The workspace is /w and the folder beside it /o in what is kept.
"""
import json, os, shutil, subprocess, sys

refbox, runs, out, folder = sys.argv[1:5]
blind = "blind" in sys.argv[5:]
POLICIES = {
    "ww": {}, "ro": {"mode": "read_only"}, "protect": {"protect": "metadata"},
    "git": {"protect": "metadata", "grants": ["git_metadata_write"]},
    "host": {"network": {"host": {}}}, "deny": {"deny_read": ["/w/secret"]},
    "keep": {"deny_write": ["/w/keep"]},
}
kept = []
for number, line in enumerate(open(runs, encoding="utf-8")):
    if not line.strip() or line.startswith("#"):
        continue
    label, words, locale, program, command = line.rstrip("\n").split("\t")
    ws, beside = f"{folder}/w", f"{folder}/o"
    shutil.rmtree(folder, ignore_errors=True)
    for name in (ws + "/secret", ws + "/keep", ws + "/.git/hooks", ws + "/.codex", ws + "/sub", beside):
        os.makedirs(name)
    subprocess.run(["git", "init", "-q", ws], check=True)
    for name in (ws + "/a", ws + "/secret/k", ws + "/keep/k", beside + "/f", ws + "/closed"):
        open(name, "w").write("text\n")
    os.chmod(ws + "/closed", 0)
    os.symlink(beside, ws + "/link")
    for path, _, files in os.walk(folder):
        os.chown(path, 1500, 1500)
        for name in files:
            os.chown(f"{path}/{name}", 1500, 1500, follow_symlinks=False)
    policy = {"workspace": "/w"}
    for word in words.split(","):
        policy.update(POLICIES[word])
    here = lambda text: text.replace("/w/", ws + "/").replace('"/w"', f'"{ws}"').replace("/o/", beside + "/")
    argv = {"argv": ["sh", "-c"]}.get(program, [program, "-c"])
    real = json.loads(here(json.dumps(policy)))
    real["env"] = {"set": {"LC_ALL": locale, "HOME": ws, "TMPDIR": "/tmp"}}
    request = {"protocol": 1, "policy": real, "run": {"command": {"argv": argv + [here(command)]}, "cwd": ws,
               "capture": True, "timeout_ms": 30000}}
    shutil.rmtree(folder + ".io", ignore_errors=True)
    os.makedirs(folder + ".io")
    json.dump(request, open(folder + ".io/q", "w"))
    os.chown(folder + ".io", 1500, 1500)
    subprocess.run(["setpriv", "--reuid=1500", "--regid=1500", "--clear-groups", *refbox.split(), "run", "--request", folder + ".io/q",
                    "--result", folder + ".io/r"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    result = json.load(open(folder + ".io/r"))
    rule = (result["blocked"] or {}).get("rule", "none")
    if rule != label and not blind:
        print(f"{rule} instead of {label}: {command}: {result.get('stderr')!r}")
    back = lambda text: (text or "").replace(ws, "/w").replace(beside, "/o")
    kept.append({"label": label, "policy": policy, "locale": locale, "argv": argv + [command],
                 "exit": result["exit_code"], "signal": result["signal"], "stdout": back(result.get("stdout"))[:2000],
                 "stderr": back(result.get("stderr"))[:2000]})
shutil.rmtree(folder, ignore_errors=True)
shutil.rmtree(folder + ".io", ignore_errors=True)
with open(out, "w", encoding="utf-8") as file:
    for one in kept:
        file.write(json.dumps(one, ensure_ascii=False) + "\n")
print(f"{len(kept)} runs")
