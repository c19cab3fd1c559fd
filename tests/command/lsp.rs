//! Tests the language server as an editor sees it: messages over standard input and output.

use crate::common::{folder, root};
use ember_language::rules;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A server and the notifications it has sent so far.
struct Client {
    server: Child,
    from: BufReader<ChildStdout>,
    next: i64,
    published: Vec<Value>,
}

impl Client {
    /// Starts a server and sends it nothing.
    fn fresh() -> Client {
        let mut server = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let from = BufReader::new(server.stdout.take().expect("standard output"));
        Client { server, from, next: 0, published: Vec::new() }
    }

    /// Starts a server with a folder as its workspace.
    fn new(folder: &Path, options: Value) -> Client {
        let mut client = Client::fresh();
        let params = json!({
            "processId": null, "capabilities": {}, "rootUri": uri(folder),
            "initializationOptions": options,
        });
        let answer = client.ask("initialize", params);
        assert_eq!(answer["result"]["capabilities"]["hoverProvider"], true, "{answer}");
        client.tell("initialized", json!({}));
        client
    }

    fn raw(&mut self, text: &str) {
        let to = self.server.stdin.as_mut().expect("standard input");
        to.write_all(text.as_bytes()).and_then(|()| to.flush()).expect("is written");
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.raw(&format!("Content-Length: {}\r\n\r\n{text}", text.len()));
    }

    /// Reads the next message; `None` at the end of the stream.
    fn read(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line).expect("a header") == 0 {
                return None;
            }
            match line.trim().split_once(": ") {
                Some((_, value)) => length = value.parse().expect("a length"),
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body).expect("a body");
        Some(serde_json::from_slice(&body).expect("JSON"))
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and returns its answer.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.read().expect("an answer");
            if message["id"] == id {
                return message;
            }
            self.published.push(message);
        }
    }

    fn open(&mut self, path: &Path, text: &str) {
        let document = json!({"uri": uri(path), "languageId": "ember", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
    }

    /// Sends a text that was changed many times, each time to another one, and no other message between.
    fn change_often(&mut self, path: &Path, text: &str, times: usize) {
        for time in 0..times {
            self.change(path, &format!("{text}; {time}\n"));
        }
    }

    fn change(&mut self, path: &Path, text: &str) {
        let document = json!({"uri": uri(path), "version": 2});
        let changes = json!([{"text": text}]);
        let params = json!({"textDocument": document, "contentChanges": changes});
        self.tell("textDocument/didChange", params);
    }

    /// Sends a request about a position in a text: `nth` bytes after the first occurrence of `mark`.
    fn about(&mut self, method: &str, path: &Path, text: &str, mark: &str, nth: usize) -> Value {
        let at = text.find(mark).expect("stands there") + nth;
        let before = &text[..at];
        let line = before.matches('\n').count();
        let character = before.rsplit('\n').next().unwrap_or("").encode_utf16().count();
        let position = json!({"line": line, "character": character});
        let params = json!({"textDocument": {"uri": uri(path)}, "position": position});
        self.ask(method, params)["result"].take()
    }

    /// Returns the codes and ranges last published about a file; `None` if there were none.
    fn diagnostics(&mut self, path: &Path) -> Option<Vec<(String, Value)>> {
        // This answer comes after all notifications sent before it.
        self.ask("textDocument/documentSymbol", json!({"textDocument": {"uri": uri(path)}}));
        let of_file = |message: &&Value| message["params"]["uri"] == uri(path);
        let last = self.published.iter().rev().find(of_file)?;
        let list = last["params"]["diagnostics"].as_array().expect("a list").iter();
        let code = |d: &Value| (d["code"].as_str().unwrap_or("-").to_owned(), d["range"].clone());
        Some(list.map(code).collect())
    }

    /// Sends `exit` and returns the exit code.
    fn exit(mut self) -> Option<i32> {
        self.tell("exit", Value::Null);
        drop(self.server.stdin.take());
        self.server.wait().expect("ends").code()
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display()).replace(' ', "%20")
}

fn range(line: u32, from: u32, to: u32) -> Value {
    json!({"start": {"line": line, "character": from}, "end": {"line": line, "character": to}})
}

const DIALECT: &str = "(dialect d \"é 𝄞 a small dialect\"
  (sort Value \"a value\")
  (op f (Value Value) Value \"what f is\" :commutes)
  (op bind (Value Value) Value \"a binder\" :binds (0 1)))
";

const RULES: &str = "(ruleset s \"a small set\")
(rule r \"𝄞 f x x = x\" (f ?x ?x) => ?x :when (index ?x))
(steps p \"once\" (saturate s))
(schedule t \"all\" (steps p))
";

/// Creates a folder of two rule files; returns it and their paths.
fn two_files(name: &str) -> (PathBuf, PathBuf, PathBuf) {
    let folder = folder(name);
    let (dialect, rules) = (folder.join("dialect.rules"), folder.join("a b.rules"));
    fs::write(&dialect, DIALECT).expect("is written");
    fs::write(&rules, RULES).expect("is written");
    (folder, dialect, rules)
}

#[test]
fn diagnostics_come_and_go_as_one_types() {
    let (folder, dialect, rules) = two_files("lsp-diagnostics");
    let mut client = Client::new(&folder, Value::Null);
    let wrong = RULES.replace("(f ?x ?x) =>", "(g ?x ?x) =>");
    client.open(&rules, &wrong);
    let found = client.diagnostics(&rules).expect("published");
    // Characters count in UTF-16 units, and the clef takes two.
    assert_eq!(found, [("unknown-operator".to_owned(), range(1, 24, 25))]);
    client.change(&rules, RULES);
    assert_eq!(client.diagnostics(&rules), Some(Vec::new()));

    // The text of an open file counts, not the text on disk; so do the texts of other files.
    client.open(&dialect, &DIALECT.replace("(op f (", "(op g ("));
    let codes = |found: Option<Vec<(String, Value)>>| -> Vec<String> {
        found.expect("published").into_iter().map(|(code, _)| code).collect()
    };
    assert_eq!(codes(client.diagnostics(&rules)), ["unknown-operator"]);
    // A file that cannot be read causes no diagnostics of the others.
    client.change(&dialect, "(dialect");
    assert_eq!(codes(client.diagnostics(&dialect)), ["unbalanced"]);
    assert_eq!(codes(client.diagnostics(&rules)), ["unknown-operator"]);
    let params = json!({"textDocument": {"uri": uri(&dialect)}});
    client.tell("textDocument/didClose", params);
    assert_eq!(codes(client.diagnostics(&rules)), [""; 0]);
    assert_eq!(codes(client.diagnostics(&dialect)), [""; 0]);
    // Models are read, not checked.
    let model = folder.join("m.sexp");
    client.open(&model, "(model m\n  (input");
    assert_eq!(codes(client.diagnostics(&model)), ["unbalanced", "unbalanced"]);
    client.ask("shutdown", Value::Null);
    assert_eq!(client.exit(), Some(0));
}

#[test]
fn places_are_explained_found_and_completed() {
    let (folder, dialect, rules) = two_files("lsp-places");
    let mut client = Client::new(&folder, Value::Null);
    client.open(&rules, RULES);
    let mut hover = |mark: &str, nth: usize| {
        let found = client.about("textDocument/hover", &rules, RULES, mark, nth);
        (found["contents"]["value"].as_str().unwrap_or("").to_owned(), found["range"].clone())
    };
    let (text, place) = hover("(f ?x", 1);
    assert!(text.contains("(f Value Value) : Value") && text.contains("what f is"), "{text}");
    assert_eq!(place, range(1, 24, 25));
    assert!(hover("?x ?x", 1).0.contains("?x : Value"));
    assert!(hover("index", 2).0.contains("a scalar i64"));
    assert!(hover(":when", 2).0.contains("Only where all of these hold."));
    assert!(hover("rule r", 1).0.contains("Two terms that mean the same."));
    assert!(hover("rule r", 5).0.contains("f x x = x"));
    assert!(hover("saturate s", 9).0.contains("a small set"));
    assert!(hover("saturate s", 1).0.contains("until nothing changes"));
    assert!(hover("(steps p))", 7).0.contains("once"));
    assert!(hover("(steps p))", 2).0.contains("the steps of this name"));
    assert_eq!(hover("a small set", 3).0, "");

    let mut definition = |mark: &str, nth: usize| {
        let found = client.about("textDocument/definition", &rules, RULES, mark, nth);
        (found["uri"].as_str().unwrap_or("").to_owned(), found["range"].clone())
    };
    assert_eq!(definition("(f ?x", 1), (uri(&dialect), range(2, 6, 7)));
    assert_eq!(definition("saturate s", 9), (uri(&rules), range(0, 9, 10)));
    assert_eq!(definition("?x) =>", 1), (uri(&rules), range(1, 26, 28)));
    assert_eq!(definition("index", 1).0, "");

    // A text that is being written need not be balanced.
    let mut complete = |text: &str| {
        client.change(&rules, &format!("{RULES}{text}"));
        let whole = format!("{RULES}{text}");
        let found = client.about("textDocument/completion", &rules, &whole, text, text.len());
        let labels = found.as_array().expect("a list").iter();
        labels.map(|item| item["label"].as_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    let contains = |labels: &[String], names: &[&str]| {
        names.iter().all(|name| labels.iter().any(|label| label == name))
    };
    assert_eq!(complete("(")[..2], ["include", "dialect"]);
    assert!(contains(&complete("(rule q \"x\" ("), &["f", "bind"]));
    assert!(contains(&complete("(rule q \"x\" (f ?y ?z) => ?"), &["?y", "?z"]));
    assert!(contains(&complete("(rule q \"x\" (f ?y ?z) => ?y :"), &[":when", ":let"]));
    assert!(contains(&complete("(rule q \"x\" (f ?y ?z) => ?y :when ("), &["index", "at-most"]));
    assert!(contains(&complete("(rule q \"x\" (f ?y ?z) => ?y :for ?n (w"), &["wide-lanes"]));
    assert_eq!(complete("(schedule u \"x\" (saturate "), ["s", "d"]);
    let steps = [
        "saturate",
        "keep",
        "rank",
        "choose",
        "permute",
        "repeat",
        "seq",
        "until",
        "otherwise",
        "besides",
        "steps",
        "attempt",
    ];
    assert_eq!(complete("(schedule u \"x\" ("), steps);
    assert_eq!(complete("(steps u \"x\" ("), steps);
    assert_eq!(complete("(schedule u \"x\" (saturate (steps "), ["p"]);
    assert_eq!(complete("(dialect e \"x\" (op g ("), ["Value"]);
    assert!(contains(&complete("(dialect e \"x\" (op g () Value \"g\" :"), &[":binds"]));
    assert_eq!(complete("(ruleset e \"x\" :phase l").len(), 5);
    assert_eq!(complete("(rule q \"in a text ("), [""; 0]);
}

#[test]
fn files_are_formatted_outlined_and_hinted() {
    let (folder, _, rules) = two_files("lsp-files");
    let mut client = Client::new(&folder, Value::Null);
    client.open(&rules, &RULES.replace(" =>", "\n\n   =>"));
    let document = json!({"uri": uri(&rules)});
    let options = json!({"tabSize": 4, "insertSpaces": false});
    let params = json!({"textDocument": document, "options": options});
    let edits = client.ask("textDocument/formatting", params.clone());
    let edit = &edits["result"][0];
    let text = edit["newText"].as_str().expect("a text");
    assert!(text.contains("\n  (f ?x ?x)\n\n  => ?x :when"), "{text}");
    assert_eq!(edit["range"]["end"], json!({"line": 6, "character": 0}));
    client.change(&rules, text);
    assert_eq!(client.ask("textDocument/formatting", params.clone())["result"], json!([]));
    client.change(&rules, "(rule");
    assert_eq!(client.ask("textDocument/formatting", params)["result"], Value::Null);

    client.change(&rules, RULES);
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}});
    let params = json!({"textDocument": document, "range": whole});
    let hints = client.ask("textDocument/inlayHint", params);
    let hint = &hints["result"][0];
    assert_eq!(hint["label"], ": Value");
    assert_eq!(hint["position"], json!({"line": 1, "character": 28}));
    assert_eq!(hints["result"].as_array().map(Vec::len), Some(1));
    let symbols = client.ask("textDocument/documentSymbol", json!({"textDocument": document}));
    let symbols = symbols["result"].as_array().expect("a list").iter();
    let names: Vec<_> = symbols.map(|symbol| symbol["name"].as_str().unwrap_or("")).collect();
    assert_eq!(names, ["s", "r", "p", "t"]);
}

#[test]
fn rules_of_the_workspace_are_there_for_files_elsewhere() {
    let (folder, ..) = two_files("lsp-workspace");
    let other = folder.join("mine/own.rules");
    fs::create_dir(folder.join("mine")).expect("is made");
    let text = "(ruleset o \"x\")\n(rule o \"x\" (f (f ?x ?x) ?y) => (f ?x ?y))\n";
    let mut client = Client::new(&folder, Value::Null);
    client.open(&other, text);
    assert_eq!(client.diagnostics(&other).expect("published").len(), 3);
    let settings = json!({"emberRewrite": {"rules": ["."]}});
    client.tell("workspace/didChangeConfiguration", json!({"settings": settings}));
    assert_eq!(client.diagnostics(&other), Some(Vec::new()));
    let mut client = Client::new(&folder, json!({"rules": "."}));
    client.open(&other, text);
    assert_eq!(client.diagnostics(&other), Some(Vec::new()));
}

#[test]
fn systems_in_one_folder_and_their_cases_are_checked_apart() {
    let (folder, dialect, rules) = two_files("lsp-apart");
    let (one, case) = (folder.join("one.rules"), folder.join("one.case"));
    let alone = format!("{DIALECT}{RULES}");
    fs::write(&one, &alone).expect("is written");
    let mut client = Client::new(&folder, Value::Null);
    client.open(&one, &alone);
    assert_eq!(client.diagnostics(&one), Some(Vec::new()));
    assert_eq!(client.diagnostics(&dialect), None);
    let text = "(case x\n  (rules s)\n  (input (f 1 1))\n  (expect 1 (h 2)))\n";
    client.open(&case, text);
    let found = client.diagnostics(&case).expect("published");
    assert_eq!(found, [("unknown-operator".to_owned(), range(3, 13, 14))]);
    let hover = client.about("textDocument/hover", &case, text, "(f 1", 1);
    assert!(hover["contents"]["value"].as_str().is_some_and(|text| text.contains("what f is")));
    let set = client.about("textDocument/definition", &case, text, "rules s", 6);
    assert_eq!((&set["uri"], &set["range"]), (&uri(&one).into(), &range(4, 9, 10)));
    // A file that needs its folder is checked with all of it; this adds no diagnostics to files that are complete
    // alone.
    client.open(&rules, RULES);
    assert_eq!(client.diagnostics(&rules), Some(Vec::new()));
    assert_eq!(client.diagnostics(&one), Some(Vec::new()));
}

#[test]
fn messages_that_make_no_sense_are_refused_and_harm_nothing() {
    let mut client = Client::fresh();
    let code = |answer: Value| answer["error"]["code"].as_i64();
    assert_eq!(code(client.ask("textDocument/hover", json!({}))), Some(-32002));
    let folder = folder("lsp-malformed");
    client.tell("textDocument/didOpen", json!({}));
    client.ask("initialize", json!({"capabilities": {}, "rootUri": uri(&folder)}));
    assert_eq!(code(client.ask("initialize", json!({"capabilities": {}}))), Some(-32600));
    assert_eq!(code(client.ask("textDocument/rename", json!({}))), Some(-32601));
    for params in [Value::Null, json!([]), json!({"textDocument": 7}), json!("x")] {
        assert_eq!(code(client.ask("textDocument/hover", params.clone())), Some(-32602));
        client.tell("textDocument/didOpen", params.clone());
        client.tell("textDocument/didChange", params.clone());
        client.tell("no/such", params);
    }
    client.raw("Content-Length: 5\r\nX-Other: é\r\n\r\n{\"a\":");
    let answer = client.read().expect("an answer");
    assert_eq!((&answer["id"], code(answer.clone())), (&Value::Null, Some(-32700)));
    for message in [json!([]), json!(7), json!({"id": 5}), json!({"method": 5, "id": 1})] {
        client.send(&message);
        assert_eq!(code(client.read().expect("an answer")), Some(-32600), "{message}");
    }
    // The server must survive answers without a request, a file that is not open, and a URI that is no file.
    client.send(&json!({"jsonrpc": "2.0", "id": 77, "result": null}));
    let nowhere = folder.join("nowhere.rules");
    for method in ["textDocument/hover", "textDocument/definition"] {
        assert_eq!(client.about(method, &nowhere, "x", "x", 0), Value::Null);
    }
    let document = json!({"uri": "untitled:1", "languageId": "x", "version": 1, "text": "("});
    client.tell("textDocument/didOpen", json!({"textDocument": document}));
    // The position is outside the text.
    let rules = folder.join("new.rules");
    client.open(&rules, RULES);
    let far = json!({"line": 4_000_000_000u32, "character": 4_000_000_000u32});
    let params = json!({"textDocument": {"uri": uri(&rules)}, "position": far});
    assert_eq!(client.ask("textDocument/hover", params)["result"], Value::Null);
    // Nesting beyond the maximum, and a position inside it, must not end the server.
    client.change(&rules, &"(".repeat(200_000));
    client.about("textDocument/completion", &rules, "(((", "(((", 3);
    assert_eq!(client.diagnostics(&rules).map(|found| found[0].0.clone()), Some("too-deep".into()));

    client.ask("shutdown", Value::Null);
    assert_eq!(code(client.ask("textDocument/hover", json!({}))), Some(-32600));
    assert_eq!(client.exit(), Some(0));
    // A client that ends without `shutdown`, or without `exit`, causes the exit code 1.
    assert_eq!(Client::new(&folder, Value::Null).exit(), Some(1));
    let mut client = Client::new(&folder, Value::Null);
    drop(client.server.stdin.take());
    assert_eq!(client.server.wait().expect("ends").code(), Some(1));
    let mut client = Client::fresh();
    client.raw("Content-Length: 99999999999999999999\r\n\r\n");
    assert_eq!(client.read(), None);
    assert_eq!(client.server.wait().expect("ends").code(), Some(2));
}

#[test]
fn the_extension_knows_every_word_and_is_well_formed() {
    let folder = root().join("editors/vscode");
    let read = |name: &str| -> Value {
        let text = fs::read_to_string(folder.join(name)).expect("a text");
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let package = read("package.json");
    let contributes = &package["contributes"];
    let language = &contributes["languages"][0];
    let grammar = &contributes["grammars"][0];
    read(language["configuration"].as_str().expect("a path"));
    let syntax = read(grammar["path"].as_str().expect("a path"));
    assert!(folder.join(package["main"].as_str().expect("a path")).is_file());
    assert_eq!(
        (&grammar["language"], &syntax["scopeName"]),
        (&language["id"], &grammar["scopeName"])
    );
    // Collects the words of all patterns.
    let mut patterns = Vec::new();
    let mut open = vec![&syntax];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                patterns.extend(map.get("match").and_then(Value::as_str));
                open.extend(map.values());
            }
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
    let word = |c: char| c.is_alphanumeric() || c == '-';
    let known: BTreeSet<&str> =
        patterns.iter().flat_map(|pattern| pattern.split(|c| !word(c))).collect();
    for word in rules::all_words() {
        let bare = word.name.trim_start_matches([':', '?']);
        assert!(known.contains(bare), "the grammar lacks the {} `{}`", word.kind, word.name);
    }
}

#[test]
fn a_burst_of_edits_is_checked_once_it_ends() {
    let folder = folder("lsp-burst");
    let path = folder.join("burst.rules");
    let text = fs::read_to_string(root().join("rules/trips.rules")).expect("rules");
    let mut client = Client::new(&root().join("rules"), json!({}));
    client.open(&path, &text);
    let started = Instant::now();
    client.change_often(&path, &text, 10_000);
    let symbols =
        client.ask("textDocument/documentSymbol", json!({"textDocument": {"uri": uri(&path)}}));
    assert!(symbols["result"].is_array(), "{symbols}");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let last = |message: &&Value| message["method"] == "textDocument/publishDiagnostics";
    assert!(client.published.iter().any(|message| last(&message)), "the edits are checked");
}
