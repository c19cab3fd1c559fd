//! The form of a rule, read from an S-expression and written as one. Its terms remain S-expressions.

use super::syntax::{Section, Word, doc, needs, no_more, once, sections, word};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::{Kind, Sexp};

pub(super) const RULE_KEYS: [&str; 10] = [
    ":where",
    ":with",
    ":for",
    ":let",
    ":when",
    ":phase",
    ":exact",
    ":test",
    ":counter-test",
    ":subsume",
];

/// The form `(rule NAME "doc" LEFT => RIGHT …)`.
#[derive(Clone, Debug)]
pub struct RuleForm {
    /// Its name.
    pub name: Word,
    /// A sentence that describes it.
    pub doc: String,
    /// The left side.
    pub lhs: Sexp,
    /// The right side.
    pub rhs: Sexp,
    /// True if it is written with `<=>`.
    pub both_ways: bool,
    /// The patterns of `:where`, for variables that are bound before, and of `:with`, for new variables.
    pub wheres: Vec<(Word, Sexp)>,
    /// The variables of `:with`.
    pub withs: Vec<Word>,
    /// Variables and their generators.
    pub fors: Vec<(Word, Sexp)>,
    /// Abbreviations.
    pub lets: Vec<(Word, Sexp)>,
    /// Conditions.
    pub whens: Vec<Sexp>,
    /// The phase in which it is meant to run.
    pub phase: Option<Word>,
    /// The degree to which it preserves results.
    pub exact: Option<Word>,
    /// Terms, and the terms that it must turn them into.
    pub tests: Vec<(Sexp, Sexp)>,
    /// Terms that it must not apply to.
    pub counter_tests: Vec<Sexp>,
    /// The place of `:subsume`.
    pub subsume: Option<Span>,
    /// The operator that `(derive …)` names, for a derived rule.
    pub derived: Option<String>,
}

/// Reads `(commutes NAME OP "doc")`, the rule that swaps the operands of OP.
pub(super) fn commutes(span: Span, items: &[Sexp]) -> Result<RuleForm, Diagnostic> {
    let name = word(items.first(), "the name of the rule", span)?;
    let op = word(items.get(1), "the operator that commutes", span)?;
    let doc = doc(items.get(2), span)?;
    no_more(items, 3)?;
    Ok(RuleForm::swap(name, doc, &op))
}

impl RuleForm {
    /// Creates the rule that swaps the operands of an operator.
    pub fn swap(name: Word, doc: String, op: &Word) -> RuleForm {
        let side = |words: [&str; 3]| {
            let items = words.map(|w| Sexp { span: op.span, kind: Kind::Atom(w.to_owned()) });
            Sexp { span: op.span, kind: Kind::List(items.to_vec()) }
        };
        let lhs = side([&op.text, "?a", "?b"]);
        let rhs = side([&op.text, "?b", "?a"]);
        RuleForm::new(name, doc, lhs, rhs, false)
    }

    /// Creates a rule without any keywords.
    pub fn new(name: Word, doc: String, lhs: Sexp, rhs: Sexp, both_ways: bool) -> RuleForm {
        RuleForm {
            name,
            doc,
            lhs,
            rhs,
            both_ways,
            wheres: Vec::new(),
            withs: Vec::new(),
            fors: Vec::new(),
            lets: Vec::new(),
            whens: Vec::new(),
            phase: None,
            exact: None,
            tests: Vec::new(),
            counter_tests: Vec::new(),
            subsume: None,
            derived: None,
        }
    }

    /// Returns the form that reads back to this rule.
    pub fn form(&self) -> Sexp {
        let sexp = |kind: Kind| Sexp { span: self.name.span, kind };
        let atom = |text: &str| sexp(Kind::Atom(text.to_owned()));
        let list = |items: Vec<Sexp>| sexp(Kind::List(items));
        let arrow = if self.both_ways { "<=>" } else { "=>" };
        let mut items =
            vec![atom("rule"), atom(&self.name.text), sexp(Kind::Text(self.doc.clone()))];
        items.extend([self.lhs.clone(), atom(arrow), self.rhs.clone()]);
        for (v, pattern) in &self.wheres {
            let new = self.withs.iter().any(|with| with.text == v.text);
            items.extend([
                atom(if new { ":with" } else { ":where" }),
                atom(&v.text),
                pattern.clone(),
            ]);
        }
        for (key, all) in [(":for", &self.fors), (":let", &self.lets)] {
            items.extend(all.iter().flat_map(|(v, of)| [atom(key), atom(&v.text), of.clone()]));
        }
        let pairs = self.tests.iter().map(|(input, to)| list(vec![input.clone(), to.clone()]));
        let pairs: Vec<Sexp> = pairs.collect();
        for (key, all) in
            [(":when", &self.whens), (":test", &pairs), (":counter-test", &self.counter_tests)]
        {
            if !all.is_empty() {
                items.push(atom(key));
                items.extend(all.iter().cloned());
            }
        }
        for (key, word) in [(":phase", &self.phase), (":exact", &self.exact)] {
            items.extend(word.iter().flat_map(|word| [atom(key), atom(&word.text)]));
        }
        items.extend(self.subsume.map(|_| atom(":subsume")));
        list(items)
    }
}

pub(super) fn rule(
    span: Span,
    items: &[Sexp],
    errors: &mut Vec<Diagnostic>,
) -> Result<RuleForm, Diagnostic> {
    let (fixed, rest) = sections(items, &RULE_KEYS, errors);
    let name = word(fixed.first(), "the name of the rule", span)?;
    let doc = doc(fixed.get(1), span)?;
    let arrow_help = "write LEFT => RIGHT, or LEFT <=> RIGHT for both directions";
    let part = |i: usize, what: &str, code| {
        fixed.get(i).cloned().ok_or_else(|| {
            Diagnostic::error(format!("{what} of the rule is missing"), span, "in this rule")
                .with_code(code)
                .with_help(arrow_help)
        })
    };
    let lhs = part(2, "the left side", Code::NoSide)?;
    let arrow = part(3, "the arrow", Code::NoArrow)?;
    let both_ways = match arrow.atom() {
        Some("=>") => false,
        Some("<=>") => true,
        _ => {
            return Err(Diagnostic::error(
                "expected `=>` or `<=>`",
                arrow.span,
                "the sides of a rule are separated by an arrow",
            )
            .with_code(Code::NoArrow)
            .with_help(arrow_help));
        }
    };
    let rhs = part(4, "the right side", Code::NoSide)?;
    no_more(fixed, 5)?;

    let mut form = RuleForm::new(name, doc, lhs, rhs, both_ways);
    for section in &rest {
        match section.key.text.as_str() {
            ":where" => form.wheres.extend(variable_and(section, "PATTERN", errors)),
            ":with" => {
                if let Some((name, pattern)) = variable_and(section, "PATTERN", errors) {
                    form.withs.push(name.clone());
                    form.wheres.push((name, pattern));
                }
            }
            ":for" => form.fors.extend(variable_and(section, "(GENERATOR ?a …)", errors)),
            ":let" => form.lets.extend(variable_and(section, "TERM", errors)),
            ":when" => form.whens.extend(some(section, "(PREDICATE ARG …)", errors)),
            ":phase" => once(&mut form.phase, section, errors),
            ":exact" => once(&mut form.exact, section, errors),
            ":test" => {
                for test in some(section, "(INPUT EXPECTED)", errors) {
                    match test.list() {
                        Some([input, expected]) => {
                            form.tests.push((input.clone(), expected.clone()));
                        }
                        _ => errors.push(
                            Diagnostic::error(
                                "a test is a pair of terms",
                                test.span,
                                "this is not a pair",
                            )
                            .with_code(Code::NotATest)
                            .with_help("write :test (INPUT EXPECTED)"),
                        ),
                    }
                }
            }
            ":counter-test" => form.counter_tests.extend(some(section, "INPUT", errors)),
            _ => {
                if let Some(extra) = section.items.first() {
                    errors.push(
                        Diagnostic::error("`:subsume` takes no value", extra.span, "remove this")
                            .with_code(Code::TakesNoValue),
                    );
                }
                form.subsume = Some(section.key.span);
            }
        }
    }
    Ok(form)
}

/// Returns a keyword's items; an empty list is an error.
fn some(section: &Section, what: &str, errors: &mut Vec<Diagnostic>) -> Vec<Sexp> {
    if section.items.is_empty() {
        errors.push(needs(section, what));
    }
    section.items.to_vec()
}

/// Returns a keyword's variable and the item after it.
fn variable_and(
    section: &Section,
    what: &str,
    errors: &mut Vec<Diagnostic>,
) -> Option<(Word, Sexp)> {
    if let [name, value] = section.items
        && let Some(text) = name.atom().filter(|t| t.starts_with('?') && t.len() > 1)
    {
        return Some((Word { text: text.to_owned(), span: name.span }, value.clone()));
    }
    errors.push(needs(section, &format!("?x {what}")));
    None
}
