#!/usr/bin/env python3
"""An agent without a sandbox, which executes what its model asks its tool `run` for."""
import json, os, signal, subprocess, sys, urllib.request

url, protocol, how = sys.argv[1:]
assert os.environ["MODEL"] == url and url.startswith("http://127.0.0.1:"), url
streams = how != "whole"


def offered(names):
    if protocol == "openai-chat":
        return [{"type": "function", "function": {"name": name}} for name in names]
    if protocol == "gemini":
        return [{"functionDeclarations": [{"name": name} for name in names]}]
    return [{"type": "function", "name": name} for name in names]


def said(report):
    """The history of the conversation: the prompt, or the report of the call."""
    if protocol == "openai-responses":
        item = {"type": "function_call_output", "call_id": "call_1", "output": report}
        return {"input": [item] if report else [{"role": "user", "content": "go"}]}
    if protocol == "openai-chat":
        message = {"role": "tool", "tool_call_id": "call_1", "content": report}
        return {"messages": [message] if report else [{"role": "user", "content": "go"}]}
    if protocol == "anthropic":
        part = {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": report}]}
        return {"messages": [{"role": "user", "content": [part] if report else "go"}]}
    part = {"functionResponse": {"name": "run", "response": {"output": report}}}
    return {"contents": [{"parts": [part if report else {"text": "go"}]}]}


def turn(report=None, tools=("other", "run")):
    path = {"openai-responses": "/v1/responses", "openai-chat": "/v1/chat/completions",
            "anthropic": "/v1/messages", "gemini": "/v1/models/m:generateContent"}[protocol]
    body = said(report) | {"model": "m", "tools": offered(tools), "stream": streams}
    if protocol == "gemini" and streams:
        path = path.replace(":g", ":streamG")
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    text = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).read().decode()
    data = [line[6:] for line in text.splitlines() if line.startswith("data: ")] if text.startswith(("data", "event")) else [text]
    return [json.loads(piece) for piece in data if piece != "[DONE]"]


def call(pieces):
    """The arguments of the call that the model asks for, if any."""
    for piece in pieces:
        if protocol == "openai-responses" and piece.get("item", {}).get("type") == "function_call":
            return json.loads(piece["item"]["arguments"])
        if protocol == "openai-chat":
            message = piece["choices"][0].get("delta") or piece["choices"][0].get("message")
            for made in message.get("tool_calls", []):
                return json.loads(made["function"]["arguments"])
        if protocol == "anthropic":
            if "partial_json" in piece.get("delta", {}):
                return json.loads(piece["delta"]["partial_json"])
            for part in piece.get("content", []):
                if part["type"] == "tool_use":
                    return part["input"]
        if protocol == "gemini":
            for part in piece["candidates"][0]["content"]["parts"]:
                if "functionCall" in part:
                    return part["functionCall"]["args"]


if how in ("ends", "complains"):
    print("no account\n" if how == "complains" else "")
    sys.exit()
if how.startswith("litters"):
    os.makedirs(".agent/state" if how == "litters" else ".other")
if how == "hangs":
    signal.pause()
if how == "talks-first":
    assert call(turn(tools=())) is None
asked = call(turn(tools=("other",) if how == "toolless" else ("other", "run")))
assert (asked is None) == (how == "toolless"), asked
if how == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
if how == "asks-again":
    assert call(turn()) is None, "the model asks once"
if how in ("keeps-quiet", "toolless"):
    sys.exit()
if how == "declines":
    turn("not approved: " + asked["line"])
    sys.exit()
done = subprocess.run(["sh", "-c", asked["line"]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
code = "" if how == "codeless" else f"code {done.returncode}\n"
assert call(turn(f"{code}took 1 s\nOutput:\n{done.stdout.decode()}")) is None
