//! The protocols between agents and models: what an agent offers and reports in a request, and a
//! model's reply. Main functions: [`offered`], [`report`], [`reply`].

use serde_json::{Map, Value, json};

use crate::backend::{ModelProtocol, ToolReport};

/// The content type of a reply in one piece.
pub(super) const JSON: &str = "application/json";
/// The content type of a reply as events.
const EVENTS: &str = "text/event-stream";
/// The identifier of the one call.
const CALL: &str = "call_1";
/// The text of a turn without a call.
const DONE: &str = "done";

/// One turn of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ModelTurn {
    /// It asks for a call of a tool.
    Call {
        /// The tool's name.
        tool: String,
        /// The arguments.
        arguments: Map<String, Value>,
    },
    /// It has nothing more to ask.
    Done,
}

/// A reply of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ModelReply {
    pub(super) kind: &'static str,
    pub(super) text: String,
}

/// Returns whether a request to `path` asks for a turn of the model.
pub(super) fn is_turn(protocol: ModelProtocol, path: &str) -> bool {
    match protocol {
        ModelProtocol::OpenaiResponses => path.ends_with("/responses"),
        ModelProtocol::OpenaiChat => path.ends_with("/chat/completions"),
        ModelProtocol::Anthropic => path.ends_with("/messages"),
        ModelProtocol::Gemini => {
            path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent")
        }
    }
}

/// Returns the names of the tools that the request `body` offers.
pub(super) fn offered(protocol: ModelProtocol, body: &Value) -> Vec<String> {
    let tools = items(&body["tools"]);
    let names: Vec<&Value> = match protocol {
        ModelProtocol::OpenaiResponses | ModelProtocol::Anthropic => {
            tools.map(|tool| &tool["name"]).collect()
        }
        ModelProtocol::OpenaiChat => tools.map(|tool| &tool["function"]["name"]).collect(),
        ModelProtocol::Gemini => tools
            .flat_map(|tool| items(&tool["functionDeclarations"]))
            .map(|function| &function["name"])
            .collect(),
    };
    names.into_iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the report of the one call of `tool` that the request `body` holds.
pub(super) fn report(protocol: ModelProtocol, tool: &str, body: &Value) -> Option<ToolReport> {
    let parts = |list: &'static str, of: &'static str| {
        items(&body[list]).flat_map(move |message| items(&message[of]))
    };
    match protocol {
        ModelProtocol::OpenaiResponses => items(&body["input"])
            .find(|item| item["type"] == "function_call_output" && item["call_id"] == CALL)
            .map(|item| tool_report(&item["output"], false)),
        ModelProtocol::OpenaiChat => items(&body["messages"])
            .find(|message| message["role"] == "tool" && message["tool_call_id"] == CALL)
            .map(|message| tool_report(&message["content"], false)),
        ModelProtocol::Anthropic => parts("messages", "content")
            .find(|part| part["type"] == "tool_result" && part["tool_use_id"] == CALL)
            .map(|part| tool_report(&part["content"], part["is_error"] == true)),
        ModelProtocol::Gemini => parts("contents", "parts")
            .map(|part| &part["functionResponse"])
            .find(|response| response["name"] == tool)
            .map(|response| &response["response"])
            .map(|response| match response.get("error") {
                Some(error) => tool_report(error, true),
                None => tool_report(&response["output"], false),
            }),
    }
}

/// Returns the text of `content`, which is one, or a list of parts with one each.
fn tool_report(content: &Value, is_error: bool) -> ToolReport {
    let text = match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    ToolReport { text, is_error }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Returns the reply that tells `turn` to the request `body` to `path`.
pub(super) fn reply(
    protocol: ModelProtocol,
    path: &str,
    body: &Value,
    turn: &ModelTurn,
) -> ModelReply {
    let streams = body["stream"] == true;
    match protocol {
        ModelProtocol::OpenaiResponses => events(&responses(turn), ""),
        ModelProtocol::OpenaiChat if streams => {
            events(&chat(body, turn, "delta"), "data: [DONE]\n\n")
        }
        ModelProtocol::OpenaiChat => whole(&chat(body, turn, "message")[0]),
        ModelProtocol::Anthropic if streams => events(&anthropic_events(body, turn), ""),
        ModelProtocol::Anthropic => whole(&anthropic(body, turn)),
        ModelProtocol::Gemini if path.ends_with(":streamGenerateContent") => {
            events(&[gemini(turn)], "")
        }
        ModelProtocol::Gemini => whole(&gemini(turn)),
    }
}

fn whole(body: &Value) -> ModelReply {
    ModelReply { kind: JSON, text: body.to_string() }
}

/// Returns a stream of `events`, each with its name where it has one.
fn events(events: &[Value], end: &str) -> ModelReply {
    let event = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let text: String = events.iter().map(event).collect();
    ModelReply { kind: EVENTS, text: text + end }
}

fn responses(turn: &ModelTurn) -> [Value; 3] {
    let item = match turn {
        ModelTurn::Call { tool, arguments } => json!({
            "type": "function_call", "id": "item_1", "call_id": CALL, "name": tool,
            "arguments": text(arguments),
        }),
        ModelTurn::Done => json!({
            "type": "message", "role": "assistant", "id": "item_1",
            "content": [{"type": "output_text", "text": DONE}],
        }),
    };
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2});
    [
        json!({"type": "response.created", "response": {"id": "response_1"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {"id": "response_1", "usage": usage}}),
    ]
}

/// Returns the one choice of a reply as `member`, a whole message or what is added to one.
fn chat(body: &Value, turn: &ModelTurn, member: &str) -> [Value; 1] {
    let (mut message, reason) = match turn {
        ModelTurn::Call { tool, arguments } => {
            let function = json!({"name": tool, "arguments": text(arguments)});
            let call = json!({"index": 0, "id": CALL, "type": "function", "function": function});
            (json!({"content": null, "tool_calls": [call]}), "tool_calls")
        }
        ModelTurn::Done => (json!({"content": DONE}), "stop"),
    };
    message["role"] = "assistant".into();
    let object = if member == "delta" { "chat.completion.chunk" } else { "chat.completion" };
    [json!({
        "id": "reply_1", "object": object, "created": 1, "model": body["model"],
        "choices": [{"index": 0, member: message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    })]
}

fn anthropic(body: &Value, turn: &ModelTurn) -> Value {
    let (content, reason) = match turn {
        ModelTurn::Call { tool, arguments } => {
            (json!({"type": "tool_use", "id": CALL, "name": tool, "input": arguments}), "tool_use")
        }
        ModelTurn::Done => (json!({"type": "text", "text": DONE}), "end_turn"),
    };
    json!({
        "id": "message_1", "type": "message", "role": "assistant", "model": body["model"],
        "content": [content], "stop_reason": reason, "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    })
}

fn anthropic_events(body: &Value, turn: &ModelTurn) -> [Value; 6] {
    let mut message = anthropic(body, turn);
    let (mut block, reason) = (message["content"][0].take(), message["stop_reason"].take());
    message["content"] = json!([]);
    let delta = match turn {
        ModelTurn::Call { arguments, .. } => {
            block["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": text(arguments)})
        }
        ModelTurn::Done => {
            block["text"] = "".into();
            json!({"type": "text_delta", "text": DONE})
        }
    };
    [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_delta", "index": 0, "delta": delta}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
               "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ]
}

fn gemini(turn: &ModelTurn) -> Value {
    let part = match turn {
        ModelTurn::Call { tool, arguments } => {
            json!({"functionCall": {"name": tool, "args": arguments}})
        }
        ModelTurn::Done => json!({"text": DONE}),
    };
    json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    })
}

/// Returns `arguments` as the text that a call holds.
fn text(arguments: &Map<String, Value>) -> String {
    Value::Object(arguments.clone()).to_string()
}
