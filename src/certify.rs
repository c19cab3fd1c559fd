//! Checks certificates: that two programs are equal because rules lead from the one to the other.
//!
//! On its own: terms, rules, facts and conditions are read and derived here anew, without an
//! e-graph and without any code that searched for the proof. Rules are trusted to be right (`verify` is
//! there for that), and so are arithmetic on scalars and the reader of S-expressions.
//!
//! ```text
//! (certificate
//!   (exact EXACTNESS)                 the least exact of the rules that are used
//!   DECLARATION …
//!   (left TERM) (right TERM)          the programs
//!   (steps STEP …))                   from the first to the second
//!
//! DECLARATION:  (input NAME DTYPE (EXTENT …))  (output …)  (scratch …)
//!               (variable @K NAME LO HI STEP)                       a loop variable
//!               (spelled @K (LO STEP …) (HI STEP …) (STEP STEP …))
//! STEP:  (RULE (at N …) forward|backward (?x TERM STEP …) … (because TEXT) …)
//!        (computed (at N …) TERM TERM)
//! ```
//!
//! Loop variables are words, `@0`, `@1`, …, that are declared once with their bounds; `spelled` says that
//! the bounds may be written otherwise, with the steps that lead from each of them to the other. In the
//! programs each loop of `scf` has the bounds of its variable, no loop stands within one over its variable,
//! variables stand in their loops only, and tensors are declared.
//!
//! Position `(at N …)` goes to operand N of the whole, and on from there. What a step does:
//!
//! - A rule's sides are written down with terms for its variables. The left one (`backward`: the right
//!   one) must stand at the position, and the other takes its place. What a variable of `:where` or `:with`
//!   stands for must be the pattern, or the steps behind it lead there. For each condition, and for each
//!   number that a rule is given, in order, `because` repeats what it rests on, as it is found here;
//!   another checker may pass it over. What conditions ask is in `rules/README.md`; those that say where
//!   a rule is worth trying are not looked at. `(var …)` in a rule is the word with that name and bounds,
//!   and `(! …)` a number. A rule of two directions is one rule.
//! - `computed` puts a term where another stands that is the same number, extent or conversion.

mod conditions;
mod facts;
mod rules;
mod term;

pub use rules::Rules;

use crate::sexp::Sexp;
use ember_targets::scalar::DType;
use facts::{Fact, computed};
use std::collections::HashMap;
use term::{T, Terms, deeper};

/// What rules may say of how exact they are, the most exact first.
const EXACTNESS: [&str; 3] = ["bitwise", "reassoc", "approx"];

/// How many loop variables a certificate has at most, since of each term is known which it depends on.
const VARIABLES: usize = 500;

/// What a certificate is about.
pub struct Claim {
    /// Its declarations and the two programs.
    pub forms: Vec<Sexp>,
    /// The least exact rule that was used.
    pub exact: &'static str,
    /// How many steps there are.
    pub steps: usize,
}

struct Tensor {
    dtype: DType,
    shape: Vec<Sexp>,
    writable: bool,
}

/// What the variables of a rule stand for.
type Means<'a> = HashMap<&'a str, T>;

/// A certificate that is being checked, or written.
pub struct Checker<'a> {
    rules: &'a Rules,
    terms: Terms,
    facts: Vec<Fact>,
    tensors: HashMap<String, Tensor>,
    /// Loop variables with name, lo, hi and step, and the variables by all their spellings.
    variables: HashMap<T, [T; 4]>,
    spellings: HashMap<[T; 4], T>,
    exact: usize,
}

/// Checks the forms of a certificate.
pub fn check(rules: &Rules, certificate: &Sexp) -> Result<Claim, String> {
    let Some(("certificate", [exact, forms @ .., steps])) = certificate.form() else {
        return Err("not a certificate".to_owned());
    };
    let (Some(("exact", [claimed])), Some(("steps", steps))) = (exact.form(), steps.form()) else {
        return Err("exactness and steps were expected".to_owned());
    };
    let mut checker = Checker::new(rules);
    let mut sides = Vec::new();
    for form in forms {
        match form.form() {
            Some((side @ ("left" | "right"), [term])) => {
                let term = checker.read(term, &Means::new())?;
                checker.derive();
                if checker.facts[term].loops.is_none() || !checker.facts[term].free.is_empty() {
                    return Err(format!("{side}: loops, variables or tensors that do not fit"));
                }
                sides.push((side, term));
            }
            _ => checker.declare(form)?,
        }
    }
    let [("left", left), ("right", right)] = sides[..] else {
        return Err("two programs were expected".to_owned());
    };
    checker.leads(left, steps, right)?;
    let exact = EXACTNESS[checker.exact];
    if claimed.atom() != Some(exact) {
        return Err(format!("it is {exact} and says otherwise"));
    }
    Ok(Claim { forms: forms.to_vec(), exact, steps: steps.len() })
}

impl<'a> Checker<'a> {
    /// Nothing is declared yet.
    pub fn new(rules: &'a Rules) -> Checker<'a> {
        Checker {
            rules,
            terms: Terms::default(),
            facts: Vec::new(),
            tensors: HashMap::new(),
            variables: HashMap::new(),
            spellings: HashMap::new(),
            exact: 0,
        }
    }

    /// Takes over a declaration.
    pub fn declare(&mut self, form: &Sexp) -> Result<(), String> {
        let (head, items) = form.form().unwrap_or_default();
        let twice = match (head, items) {
            ("input" | "output" | "scratch", [name, dtype, shape]) => {
                let dtype = dtype.atom().and_then(DType::parse).ok_or("no element type")?;
                let shape = shape.list().unwrap_or_default().to_vec();
                let tensor = Tensor { dtype, shape, writable: head != "input" };
                let name = format!("%{}", name.atom().unwrap_or_default());
                self.tensors.insert(name, tensor).is_some()
            }
            ("variable", [word, parts @ ..]) => {
                let word = word.atom().filter(|word| word.starts_with('@')).ok_or("no variable")?;
                let parts = parts.iter().map(|part| self.read(part, &Means::new()));
                let parts: Vec<T> = parts.collect::<Result<_, _>>()?;
                let parts: [T; 4] = parts.try_into().map_err(|_| "no bounds")?;
                let word = self.terms.add(word, &[]);
                if self.variables.len() >= VARIABLES {
                    return Err(format!("more than {VARIABLES} loop variables"));
                }
                let spelled = self.spellings.insert(parts, word).is_some();
                self.variables.insert(word, parts).is_some() || spelled
            }
            ("spelled", [word, bounds @ ..]) => {
                let word = self.read(word, &Means::new())?;
                let [name, declared @ ..] = *self.variables.get(&word).ok_or("no variable")?;
                let mut parts = vec![name];
                for (from, bound) in declared.into_iter().zip(bounds) {
                    let (to, steps) =
                        bound.list().unwrap_or_default().split_first().ok_or("no bound")?;
                    parts.push(self.read(to, &Means::new())?);
                    self.leads(from, steps, parts[parts.len() - 1])?;
                }
                let parts: [T; 4] = parts.try_into().map_err(|_| "no bounds")?;
                self.spellings.insert(parts, word).is_some_and(|other| other != word)
            }
            _ => return Err(format!("`{head}` declares nothing")),
        };
        if twice { Err(format!("this {head} is declared before")) } else { Ok(()) }
    }

    /// A term, or a pattern with terms for its variables.
    fn read(&mut self, text: &Sexp, means: &Means<'_>) -> Result<T, String> {
        let (variables, spellings) = (&self.variables, &self.spellings);
        self.terms.read(text, &mut |terms, name, operands| match (name, operands) {
            ("var", &[name, lo, hi, step]) => Some(spellings.get(&[name, lo, hi, step]).copied()),
            ("!", &[op, a, b]) => {
                let number = |t: T| terms.name(t).parse().ok();
                let n = computed(terms.name(op), number(a), number(b));
                Some(n.map(|n| terms.add(&n.to_string(), &[])))
            }
            (v, []) if v.starts_with('?') => Some(means.get(v).copied()),
            (word, []) if word.starts_with('@') => {
                Some(Some(terms.add(word, &[])).filter(|word| variables.contains_key(word)))
            }
            _ => None,
        })
    }

    /// Whether steps lead from one term to another.
    fn leads(&mut self, from: T, steps: &[Sexp], to: T) -> Result<(), String> {
        let mut whole = from;
        for (n, step) in steps.iter().enumerate() {
            let (name, items) = step.form().unwrap_or_default();
            let fault = |e: String| format!("step {}, {name}: {e}", n + 1);
            let [at, how, parts @ ..] = items else { return Err(fault("not a step".to_owned())) };
            let sides = match how.atom() {
                Some("forward") => deeper(|| self.applied(name, false, parts)),
                Some("backward") => deeper(|| self.applied(name, true, parts)),
                _ if name == "computed" => self.computed(&items[1..]),
                _ => Err("neither forward nor backward".to_owned()),
            };
            let [old, new] = sides.map_err(fault)?;
            let way = at.form().filter(|(head, _)| *head == "at").map(|(_, way)| way);
            let next = way.and_then(|way| self.terms.replaced(whole, way, old, new));
            whole = next.ok_or_else(|| fault("something else stands there".to_owned()))?;
        }
        if whole == to { Ok(()) } else { Err("the steps lead elsewhere".to_owned()) }
    }

    /// A term, and one that is the same by numbers and declarations alone.
    fn computed(&mut self, terms: &[Sexp]) -> Result<[T; 2], String> {
        let [old, new] = terms else { return Err("not two terms".to_owned()) };
        let (old, new) = (self.read(old, &Means::new())?, self.read(new, &Means::new())?);
        self.derive();
        let same = self.same(old, new) || self.same(new, old);
        if same { Ok([old, new]) } else { Err("not the same".to_owned()) }
    }

    /// A rule that is applied: the part that is expected, and what takes its place.
    fn applied(&mut self, name: &str, back: bool, parts: &[Sexp]) -> Result<[T; 2], String> {
        let rule = self.rules.rules.get(name).ok_or("no such rule")?;
        let (mut means, mut proofs, mut reasons) = (Means::new(), HashMap::new(), Vec::new());
        for part in parts {
            match part.form() {
                Some(("because", [text])) => reasons.push(text.text().unwrap_or_default()),
                Some((v, [term, steps @ ..])) => {
                    means.insert(v, self.read(term, &Means::new())?);
                    proofs.insert(v, steps);
                }
                _ => return Err("a part that says nothing".to_owned()),
            }
        }
        let found = self.conditions(rule, &means)?;
        if found.iter().ne(&reasons) {
            return Err(format!("its conditions hold for other reasons: {found:?}"));
        }
        for (key, values) in &rule.clauses {
            let [v, pattern] = values.as_slice() else { continue };
            let v = v.atom().unwrap_or_default();
            match key.as_str() {
                ":let" => drop(means.insert(v, self.read(pattern, &means)?)),
                ":where" | ":with" => {
                    let to = self.read(pattern, &means)?;
                    let from = *means.get(v).ok_or_else(|| format!("`{v}` is missing"))?;
                    self.leads(from, proofs.get(v).copied().unwrap_or_default(), to)?;
                }
                _ => {}
            }
        }
        self.exact = self.exact.max(rule.exact);
        let [left, right] = [self.read(&rule.left, &means)?, self.read(&rule.right, &means)?];
        Ok(if back { [right, left] } else { [left, right] })
    }

    /// Why each condition of a rule holds where its variables stand for terms.
    pub fn reasons(&mut self, rule: &str, means: &[(String, Sexp)]) -> Result<Vec<String>, String> {
        let rule = self.rules.rules.get(rule).ok_or("no such rule")?;
        let mut terms = Means::new();
        for (v, term) in means {
            terms.insert(v, self.read(term, &Means::new())?);
        }
        self.conditions(rule, &terms)
    }
}
