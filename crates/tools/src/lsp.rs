//! The language server: rule files in an editor. It reads messages of the language server protocol from one stream and
//! writes its answers to another. Messages are read ahead on a thread of their own, so that a burst of edits is checked
//! once, when it ends or an answer depends on it.
//!
//! This file implements the protocol: the dispatch of messages, the phases of a session, and errors. The modules below
//! compute the answers.

mod answer;
mod describe;
mod outline;
mod place;
mod spot;
mod state;
mod wire;
mod world;

use lsp_types::{
    CompletionParams, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DocumentFormattingParams,
    DocumentSymbolParams, GotoDefinitionParams, HoverParams, InitializeParams, InlayHintParams,
    Uri,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use state::{Published, State};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// Errors of JSON-RPC and of the protocol.
mod code {
    pub const PARSE: i64 = -32700;
    pub const INVALID_REQUEST: i64 = -32600;
    pub const METHOD_NOT_FOUND: i64 = -32601;
    pub const INVALID_PARAMS: i64 = -32602;
    pub const NOT_INITIALIZED: i64 = -32002;
}

/// The phase of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Fresh,
    Running,
    ShutDown,
}

/// The time without a message after which edits are checked.
const QUIET: Duration = Duration::from_millis(10);

/// Serves until the client sends `exit` or closes the stream. Returns true if the session ended as the protocol
/// requires: `shutdown`, then `exit`.
///
/// A file is checked with the rules of these paths, unless the client's settings name others; a setting `default`
/// stands for the path `default`.
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: &mut impl Write,
    rules: Vec<PathBuf>,
    default: Option<PathBuf>,
) -> io::Result<bool> {
    let state = State::new(rules, default);
    let mut server = Server { state, phase: Phase::Fresh, stale: false, out: Vec::new() };
    let incoming = wire::read_ahead(input);
    loop {
        let next = match server.stale {
            true => incoming.recv_timeout(QUIET),
            false => incoming.recv().map_err(RecvTimeoutError::from),
        };
        match next {
            Err(RecvTimeoutError::Timeout) => server.check(),
            Err(RecvTimeoutError::Disconnected) | Ok(Ok(wire::Incoming::End)) => return Ok(false),
            Ok(Err(error)) => return Err(error),
            Ok(Ok(wire::Incoming::NoJson(why))) => {
                server.refuse(Value::Null, code::PARSE, &format!("no JSON: {why}"));
            }
            Ok(Ok(wire::Incoming::Message(message))) => {
                if message["method"] == "exit" {
                    return Ok(server.phase == Phase::ShutDown);
                }
                server.handle(message);
            }
        }
        for message in server.out.drain(..) {
            wire::write(output, &message)?;
        }
    }
}

struct Server {
    state: State,
    phase: Phase,
    /// True if texts have changed since the last check.
    stale: bool,
    /// The messages to be sent.
    out: Vec<Value>,
}

impl Server {
    fn handle(&mut self, message: Value) {
        let id = message.get("id").cloned();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // A response needs no reaction, because the server makes no requests. Any other message without a method is
            // invalid.
            let answer = message.get("result").is_some() || message.get("error").is_some();
            if !answer {
                self.refuse(id.unwrap_or_default(), code::INVALID_REQUEST, "no method");
            }
            return;
        };
        let params = message.get("params").cloned().unwrap_or_default();
        let Some(id) = id else {
            if self.phase == Phase::Running {
                self.notified(method, params);
            }
            return;
        };
        match (self.phase, method) {
            (Phase::Fresh, "initialize") => match parse::<InitializeParams>(params) {
                Ok(params) => {
                    self.state.initialize(&params);
                    self.phase = Phase::Running;
                    self.answer(id, capabilities());
                }
                Err(why) => self.refuse(id, code::INVALID_PARAMS, &why.to_string()),
            },
            (Phase::Fresh, _) => self.refuse(id, code::NOT_INITIALIZED, "not initialized"),
            (Phase::ShutDown, _) => self.refuse(id, code::INVALID_REQUEST, "shut down"),
            (Phase::Running, "initialize") => {
                self.refuse(id, code::INVALID_REQUEST, "initialized already");
            }
            (Phase::Running, "shutdown") => {
                self.phase = Phase::ShutDown;
                self.answer(id, Value::Null);
            }
            (Phase::Running, _) => match self.request(method, params) {
                Some(Ok(result)) => self.answer(id, result),
                Some(Err(why)) => self.refuse(id, code::INVALID_PARAMS, &why.to_string()),
                None => {
                    self.refuse(id, code::METHOD_NOT_FOUND, &format!("`{method}` is not known"));
                }
            },
        }
    }

    /// Answers a request; `None` if the method is unknown.
    fn request(&mut self, method: &str, params: Value) -> Option<serde_json::Result<Value>> {
        self.check();
        let state = &mut self.state;
        Some(match method {
            "textDocument/hover" => parse(params)
                .map(|params: HoverParams| state.hover(&params.text_document_position_params)),
            "textDocument/definition" => parse(params).map(|params: GotoDefinitionParams| {
                state.definition(&params.text_document_position_params)
            }),
            "textDocument/completion" => parse(params)
                .map(|params: CompletionParams| state.completion(&params.text_document_position)),
            "textDocument/formatting" => parse(params)
                .map(|params: DocumentFormattingParams| state.formatting(&params.text_document)),
            "textDocument/inlayHint" => parse(params)
                .map(|params: InlayHintParams| state.hints(&params.text_document, params.range)),
            "textDocument/documentSymbol" => parse(params)
                .map(|params: DocumentSymbolParams| state.symbols(&params.text_document)),
            _ => return None,
        })
    }

    /// Handles a notification. Malformed parameters change nothing.
    fn notified(&mut self, method: &str, params: Value) {
        let found = match method {
            "textDocument/didOpen" => parse(params).map(|params: DidOpenTextDocumentParams| {
                self.edited(&params.text_document.uri, Some(params.text_document.text))
            }),
            "textDocument/didChange" => parse(params).map(|params: DidChangeTextDocumentParams| {
                // The client sends whole texts.
                let text = params.content_changes.into_iter().next_back().map(|change| change.text);
                self.edited(&params.text_document.uri, text)
            }),
            "textDocument/didClose" => parse(params).map(|params: DidCloseTextDocumentParams| {
                self.stale = false;
                self.state.close(&params.text_document.uri)
            }),
            "workspace/didChangeConfiguration" => parse(params)
                .map(|params: DidChangeConfigurationParams| self.state.configure(&params.settings)),
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => Ok(self.state.recheck()),
            _ => return,
        };
        self.publish(found.unwrap_or_default());
    }

    /// Takes up a text that was opened or changed, which is checked later.
    fn edited(&mut self, uri: &Uri, text: Option<String>) -> Published {
        if let Some(text) = text {
            self.state.open(uri, text);
            self.stale = true;
        }
        Published::new()
    }

    /// Checks the open files if a text has changed since the last check.
    fn check(&mut self) {
        if std::mem::take(&mut self.stale) {
            let found = self.state.recheck();
            self.publish(found);
        }
    }

    /// Sends the diagnostics of files.
    fn publish(&mut self, found: Published) {
        for (uri, diagnostics) in found {
            self.out.push(json!({
                "jsonrpc": "2.0",
                "method": "textDocument/publishDiagnostics",
                "params": {"uri": uri, "diagnostics": diagnostics},
            }));
        }
    }

    fn answer(&mut self, id: Value, result: Value) {
        self.out.push(json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn refuse(&mut self, id: Value, code: i64, message: &str) {
        let error = json!({"code": code, "message": message});
        self.out.push(json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }
}

fn parse<T: DeserializeOwned>(params: Value) -> serde_json::Result<T> {
    serde_json::from_value(params)
}

/// Returns the capabilities of the server.
fn capabilities() -> Value {
    json!({
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": {"openClose": true, "change": 1, "save": true},
            "hoverProvider": true,
            "definitionProvider": true,
            "completionProvider": {"triggerCharacters": ["(", ":", "?", "."]},
            "documentFormattingProvider": true,
            "documentSymbolProvider": true,
            "inlayHintProvider": true,
        },
        "serverInfo": {"name": "ember-rewrite", "version": env!("CARGO_PKG_VERSION")},
    })
}
