//! The state of the server: the texts of open editors, the workspace's rules, and the results of the last check.

use super::place::{Lines, path};
use super::spot::{Spot, spot};
use super::world::{World, is_case, is_rules, paths};
use super::{answer, outline};
use crate::render;
use ember_language::diagnostic::{Diagnostic, Sources};
use ember_language::fmt;
use ember_language::sexp;
use lsp_types::{
    Hover, HoverContents, InitializeParams, Location, MarkupContent, MarkupKind, Range,
    TextDocumentIdentifier, TextDocumentPositionParams, TextEdit, Uri,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The limit on the diagnostics of a file that are sent.
const MAX_DIAGNOSTICS: usize = 500;

/// The name of the settings.
const SETTINGS: &str = "emberRewrite";

/// The diagnostics of files, by URI.
pub(super) type Published = Vec<(String, Value)>;

/// The state of the server.
#[derive(Default)]
pub(super) struct State {
    root: Option<PathBuf>,
    /// The rules that every file is checked with, if the settings or the command name any.
    rules: Vec<PathBuf>,
    /// The rules that the command names.
    given: Vec<PathBuf>,
    /// The path of the rules that `default` stands for.
    default: Option<PathBuf>,
    /// The texts of open editors, and the client's names of them.
    buffers: BTreeMap<PathBuf, String>,
    uris: BTreeMap<PathBuf, String>,
    /// For each open rule or case file, the paths that it is checked with, determined when it was opened.
    with: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// The results of checking, by the paths that were checked together. While a file cannot be read, the results from
    /// before are kept.
    worlds: BTreeMap<Vec<PathBuf>, World>,
    /// For each file with diagnostics, the diagnostics that were last sent.
    published: BTreeMap<PathBuf, Value>,
}

impl State {
    /// Before the client has said anything.
    pub fn new(rules: Vec<PathBuf>, default: Option<PathBuf>) -> State {
        State { rules: rules.clone(), given: rules, default, ..State::default() }
    }

    /// Takes up the workspace's folder and settings.
    pub fn initialize(&mut self, params: &InitializeParams) {
        let folder = params.workspace_folders.as_ref().and_then(|folders| folders.first());
        // Older clients send only this field.
        #[allow(deprecated)]
        let uri = folder.map(|folder| &folder.uri).or(params.root_uri.as_ref());
        self.root = uri.and_then(|uri| path(uri.as_str()));
        if let Some(options) = &params.initialization_options {
            self.set_rules(options);
        }
    }

    /// Applies changed settings and checks again.
    pub fn configure(&mut self, settings: &Value) -> Published {
        self.set_rules(&settings[SETTINGS]);
        self.with.clear();
        self.recheck()
    }

    /// Reads the setting `rules`: paths relative to the workspace's folder.
    fn set_rules(&mut self, settings: &Value) {
        let given = &settings["rules"];
        let list = given.as_array().map_or(std::slice::from_ref(given), Vec::as_slice);
        let paths = list.iter().filter_map(Value::as_str).filter(|path| !path.is_empty());
        let root = self.root.clone().unwrap_or_default();
        let resolved = |path: &str| match &self.default {
            Some(default) if path == "default" => default.clone(),
            _ => normal(&root.join(path)),
        };
        let paths: Vec<PathBuf> = paths.map(resolved).filter(|path| path.exists()).collect();
        self.rules = if paths.is_empty() { self.given.clone() } else { paths };
    }

    /// Takes up a text that was opened or changed, without checking it.
    pub fn open(&mut self, uri: &Uri, text: String) {
        let Some(path) = path(uri.as_str()) else { return };
        self.uris.insert(path.clone(), uri.as_str().to_owned());
        self.buffers.insert(path, text);
    }

    /// Handles a text that was closed: the version on disk counts again.
    pub fn close(&mut self, uri: &Uri) -> Published {
        let Some(path) = path(uri.as_str()) else { return Vec::new() };
        self.buffers.remove(&path);
        self.with.remove(&path);
        let mut found = self.recheck();
        self.uris.remove(&path);
        if self.published.remove(&path).is_some_and(|value| value != json!([])) {
            found.push((uri.as_str().to_owned(), json!([])));
        }
        found
    }

    /// Checks all open files; returns the diagnostics to be sent.
    pub fn recheck(&mut self) -> Published {
        let mut said: BTreeMap<PathBuf, Vec<Value>> = BTreeMap::new();
        let mut groups: BTreeMap<Vec<PathBuf>, Vec<PathBuf>> = BTreeMap::new();
        for (path, text) in &self.buffers {
            if is_rules(path) || is_case(path) {
                let with = self.with.entry(path.clone());
                let with = with.or_insert_with(|| paths(path, &self.rules, &self.buffers));
                groups.entry(with.clone()).or_default().push(path.clone());
            }
            if !is_rules(path) {
                said.insert(path.clone(), unread(path, text));
            }
        }
        self.worlds.retain(|paths, _| groups.contains_key(paths));
        let mut kept = Vec::new();
        for (paths, open) in groups {
            let mut world = World::new(&paths, &self.buffers);
            let torn = world.torn();
            for (path, diagnostics) in found(&world) {
                // An open file is reported by the check that it belongs to; a shared file of the workspace only by the
                // check of the workspace's rules.
                let own = match self.with.get(&path) {
                    Some(with) => *with == paths,
                    None => paths == self.rules || !self.shared(&path),
                };
                // If a file cannot be read, many other errors are mere consequences.
                let read = !torn || diagnostics.iter().any(is_of_reading);
                match (own, read) {
                    (true, true) => drop(said.insert(path, diagnostics)),
                    (true, false) => kept.push(path),
                    (false, _) => {}
                }
            }
            for path in open.iter().filter(|path| is_case(path)) {
                let wrong = world.cases(path);
                let list = said.entry(path.clone()).or_default();
                if list.is_empty() {
                    list.extend(wrong.iter().map(|d| render::lsp_diagnostic(&world.sources, d)));
                }
            }
            if !torn || !self.worlds.contains_key(&paths) {
                self.worlds.insert(paths, world);
            }
        }
        self.publish(said, &kept)
    }

    /// Returns true if a path is directly in one of the workspace's rule folders, or is one of its files.
    fn shared(&self, path: &Path) -> bool {
        self.rules.iter().any(|rules| path == rules || path.parent() == Some(rules))
    }

    /// Returns the changes since the last message. The diagnostics of `kept` files stay as they are.
    fn publish(&mut self, said: BTreeMap<PathBuf, Vec<Value>>, kept: &[PathBuf]) -> Published {
        let mut out = Vec::new();
        let gone = self.published.keys().filter(|path| !said.contains_key(*path));
        let gone: Vec<PathBuf> = gone.filter(|path| !kept.contains(path)).cloned().collect();
        let empty = gone.into_iter().map(|path| (path, Vec::new()));
        for (path, mut list) in said.into_iter().chain(empty) {
            list.truncate(MAX_DIAGNOSTICS);
            let value = Value::Array(list);
            let known = self.published.get(&path);
            let unsaid = known.is_none() && value == json!([]) && !self.buffers.contains_key(&path);
            if known != Some(&value) && !unsaid {
                let uri = self.uris.get(&path).cloned();
                out.push((uri.unwrap_or_else(|| render::uri(&path)), value.clone()));
                self.published.insert(path, value);
            }
        }
        out
    }

    /// Returns the path and text of a document, and the rules that it is checked with.
    fn at(&self, uri: &Uri) -> Option<(PathBuf, &str, Option<&World>)> {
        let path = path(uri.as_str())?;
        let text = self.buffers.get(&path)?;
        let world = self.with.get(&path).and_then(|paths| self.worlds.get(paths));
        Some((path, text, world))
    }

    /// Returns the word at a position, with its document and rules.
    fn spot(
        &self,
        params: &TextDocumentPositionParams,
    ) -> Option<(PathBuf, &str, &World, Spot<'_>)> {
        let (path, text, world) = self.at(&params.text_document.uri)?;
        let at = Lines::new(text).byte(params.position);
        Some((path, text, world?, spot(text, at)))
    }

    pub fn hover(&self, params: &TextDocumentPositionParams) -> Value {
        let found = self.spot(params).and_then(|(_, text, world, spot)| {
            let value = answer::hover(world, text, &spot)?;
            Some(Hover {
                contents: HoverContents::Markup(MarkupContent {
                    kind: MarkupKind::Markdown,
                    value,
                }),
                range: Some(Lines::new(text).range(spot.range)),
            })
        });
        json!(found)
    }

    pub fn definition(&self, params: &TextDocumentPositionParams) -> Value {
        let found = self.spot(params).and_then(|(path, text, world, spot)| {
            let target = answer::definition(world, text, &spot, path)?;
            let uri = self.uris.get(&target.path).cloned();
            let uri = uri.unwrap_or_else(|| render::uri(&target.path));
            let range = Lines::new(&target.text).range(target.range);
            Some(Location::new(uri.parse().ok()?, range))
        });
        json!(found)
    }

    pub fn completion(&self, params: &TextDocumentPositionParams) -> Value {
        let found = self.spot(params).map(|(_, text, world, spot)| {
            let range = Lines::new(text).range(spot.range.clone());
            answer::complete(world, text, &spot, range)
        });
        json!(found.unwrap_or_default())
    }

    /// Returns the edit that formats a text; no edit if it is already formatted, and null if it cannot be read.
    pub fn formatting(&self, document: &TextDocumentIdentifier) -> Value {
        let Some((path, text, _)) = self.at(&document.uri) else { return Value::Null };
        let mut sources = Sources::default();
        let file = sources.add(path, text);
        match fmt::format(&sources, file) {
            Ok(formatted) if formatted != text => {
                json!([TextEdit::new(Lines::new(text).whole(), formatted)])
            }
            Ok(_) => json!([]),
            Err(_) => Value::Null,
        }
    }

    pub fn hints(&self, document: &TextDocumentIdentifier, range: Range) -> Value {
        let Some((_, text, Some(world))) = self.at(&document.uri) else { return json!([]) };
        let lines = Lines::new(text);
        let within = lines.byte(range.start)..lines.byte(range.end);
        json!(outline::hints(world, text, &lines, within))
    }

    pub fn symbols(&self, document: &TextDocumentIdentifier) -> Value {
        let Some((_, text, _)) = self.at(&document.uri) else { return json!([]) };
        json!(outline::symbols(text, &Lines::new(text)))
    }
}

/// Returns the diagnostics of each file that was checked.
fn found(world: &World) -> BTreeMap<PathBuf, Vec<Value>> {
    let files = world.check.files.iter();
    let mut found: BTreeMap<PathBuf, Vec<Value>> =
        files.map(|file| (world.path(*file).to_owned(), Vec::new())).collect();
    for diagnostic in &world.check.diagnostics {
        let Some((span, _)) = &diagnostic.at else { continue };
        let list = found.entry(world.path(span.file).to_owned()).or_default();
        if list.len() < MAX_DIAGNOSTICS {
            list.push(render::lsp_diagnostic(&world.sources, diagnostic));
        }
    }
    found
}

/// Returns the errors of a text that is no rule file: only its syntax is checked.
fn unread(path: &Path, text: &str) -> Vec<Value> {
    let mut sources = Sources::default();
    let file = sources.add(path, text);
    let errors: Vec<Diagnostic> = sexp::read(&sources, file).err().unwrap_or_default();
    let shown = errors.iter().take(MAX_DIAGNOSTICS);
    shown.map(|error| render::lsp_diagnostic(&sources, error)).collect()
}

fn is_of_reading(diagnostic: &Value) -> bool {
    ["unbalanced", "open-text", "too-deep"].iter().any(|code| diagnostic["code"] == *code)
}

/// Returns a path without `.` and `x/..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}
