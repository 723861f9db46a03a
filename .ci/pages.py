"""Checks pages of a hostile run by the parsers of Python: pages.py DIRECTORY OUTPUT..."""

import html.parser
import json
import pathlib
import re
import sys



class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag in ("x", "hostile"):
            self.found.append(f"<{tag}> is an element")
        self.found += [f"<{tag} {name}>" for name, _ in attrs if name.startswith("on")]


def controls(text):
    return sorted({hex(ord(c)) for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160})


def main():
    directory, outputs = pathlib.Path(sys.argv[1]), sys.argv[2:]
    faults = []
    badge = json.loads((directory / "badge.json").read_text())
    if badge.get("schemaVersion") != 1 or not {"label", "message", "color"} <= badge.keys():
        faults.append(f"badge.json: {badge}")
    page = Page()
    page.feed((directory / "page.html").read_text())
    faults += [f"page.html: {fault}" for fault in page.found]
    for path in [directory / "page.html", directory / "page.md", *map(pathlib.Path, outputs)]:
        text = path.read_text()
        faults += [f"{path.name}: control character {found}" for found in controls(text)]
        for line in text.splitlines():
            command = re.match(r"\s*::(?!error file=|warning file=)|\s*##\[", line)
            if command and path.suffix != ".html":
                faults.append(f"{path.name}: a runner obeys {line!r}")
    text = (directory / "page.md").read_text()
    if "<x" in "".join(re.split(r"^ *`{3,}.*$", text, flags=re.M)[::2]):
        faults.append("page.md: markup of the backend")
    print("\n".join(faults) or "the pages hold")
    sys.exit(bool(faults))


main()
