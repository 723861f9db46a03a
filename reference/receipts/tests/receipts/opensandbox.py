"""Drives commands, code and files by OpenSandbox's own client: opensandbox.py HOST:PORT DIRECTORY.

Prints what the client saw, as one JSON object.
"""

import asyncio
import json
import sys

# This file has the package's name, and its directory comes first.
del sys.path[0]

from opensandbox.adapters.command_adapter import CommandsAdapter
from opensandbox.adapters.filesystem_adapter import FilesystemAdapter
from opensandbox.api.execd.api.code_interpreting import run_code
from opensandbox.api.execd.models import CodeContextRequest, RunCodeRequest
from opensandbox.config import ConnectionConfig
from opensandbox.models.execd import RunCommandOpts
from opensandbox.models.filesystem import DirectoryListEntry, MoveEntry, WriteEntry
from opensandbox.models.sandboxes import SandboxEndpoint


async def commands(config, endpoint):
    adapter = CommandsAdapter(config, endpoint)
    good = await adapter.run("echo one; echo two >&2", opts=RunCommandOpts(envs={"B": "2", "A": "1"}))
    bad = await adapter.run("exit 3")
    body = RunCodeRequest(code="print('x')\n2", context=CodeContextRequest(language="python"))
    code = await adapter._httpx_client.request(**run_code._get_kwargs(body=body))
    return {
        "stdout": [line.text for line in good.logs.stdout],
        "stderr": [line.text for line in good.logs.stderr],
        "exit_codes": [good.exit_code, bad.exit_code],
        "code": code.status_code,
    }


async def files(config, endpoint, directory):
    adapter = FilesystemAdapter(config, endpoint)
    await adapter.create_directories([WriteEntry(path=f"{directory}/d")])
    await adapter.write_files(
        [WriteEntry(path=f"{directory}/d/{name}", data=data) for name, data in (("a", "text a"), ("b", b"\x00b"))]
    )
    read = await adapter.read_file(f"{directory}/d/a")
    await adapter.move_files([MoveEntry(src=f"{directory}/d/a", dest=f"{directory}/d/c")])
    listed = await adapter.list_directory(DirectoryListEntry(path=f"{directory}/d"))
    await adapter.delete_files([f"{directory}/d/b", f"{directory}/d/c"])
    await adapter.delete_directories([f"{directory}/d"])
    return {"read": read, "listed": [entry.path for entry in listed]}


async def main(address, directory):
    config = ConnectionConfig(protocol="http")
    endpoint = SandboxEndpoint(endpoint=address)
    seen = await commands(config, endpoint) | await files(config, endpoint, directory)
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
