"""Drives the published Python package obsigna: its emitter, or its verifier.

emit SOCKET               sends three events to the daemon at SOCKET
verify EXPORT PUBLIC_KEY  prints what it finds of each chain of EXPORT, as JSON
"""

import json
import sys

from obsigna import DaemonEmitter, verify_chain
from obsigna.receipt.hash import hash_raw_receipt
from obsigna.receipt.signing import verify_raw
from obsigna.receipt.types import AgentReceipt


def emit(socket):
    emitter = DaemonEmitter(socket_path=socket)
    send = lambda **more: emitter.emit(channel="opensandbox_execd", tool_name="command", **more)
    send(decision="allowed", tool_server="execd", action_type="system.command.execute",
         target_system="opensandbox", target_resource="/tmp/x",
         input='{"command": "ls -la"}', output='{"exit_code": 0}')
    send(decision="denied", error="not allowed")
    send(decision="pending", input="null")
    emitter.close()


def verify(export, public_key):
    chains = {}
    with open(export, encoding="utf-8") as lines:
        for line in lines:
            raw = json.loads(line)
            chains.setdefault(raw["credentialSubject"]["chain"]["chain_id"], []).append(line)
    with open(public_key, encoding="ascii") as file:
        key = file.read()
    print(json.dumps({name: of_chain(lines, key) for name, lines in chains.items()}))


def of_chain(lines, key):
    typed = verify_chain([AgentReceipt.model_validate_json(line) for line in lines], key)
    return {
        "length": len(lines),
        "typed": typed.valid,
        "status": typed.status,
        "error": typed.error,
        "raw": all(verify_raw(line, key) for line in lines),
        "hashes": [hash_raw_receipt(line) for line in lines],
    }


if __name__ == "__main__":
    {"emit": emit, "verify": verify}[sys.argv[1]](*sys.argv[2:])
