"""Turns `cargo metadata` on stdin into a CycloneDX 1.5 list of what the program is built of."""

import json
import sys

metadata = json.load(sys.stdin)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
root = next(package["id"] for package in metadata["packages"] if package["name"] == "boxproof")


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def used(node):
    """The packages that a node is built with; those of tests are left out."""
    kinds = {dep["pkg"]: {kind["kind"] for kind in dep["dep_kinds"]} for dep in nodes[node]["deps"]}
    return [name for name, kind in kinds.items() if kind & {None, "build"}]


seen, waiting = set(), [root]
while waiting:
    node = waiting.pop()
    if node not in seen:
        seen.add(node)
        waiting += used(node)


def component(identity):
    package = packages[identity]
    found = {"type": "library", "bom-ref": purl(package), "name": package["name"],
             "version": package["version"], "purl": purl(package)}
    if package["license"]:
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    return found


main = component(root) | {"type": "application"}
json.dump({
    "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": main},
    "components": [component(name) for name in sorted(seen - {root})],
    "dependencies": [{"ref": purl(packages[name]),
                      "dependsOn": sorted(purl(packages[other]) for other in used(name))}
                     for name in sorted(seen)],
}, sys.stdout, indent=1)
