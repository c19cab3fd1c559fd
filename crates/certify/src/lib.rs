//! Checks certificates, which prove that two programs are equal by a chain of rules from one to the other. The page
//! `docs/src/certificates.md` of the book describes the format.
//!
//! The checker is independent: it reads the terms and derives facts and conditions again, without an e-graph and
//! without the code that searched for the proof. It trusts the rules and the declarations of dialects, both of which
//! `verify` checks; [`trusted`] lists the other code that it trusts. Nothing is known about an operator without
//! declarations, and conditions on it are refused.
//!
//! ```
//! use ember_certify::{Rules, check};
//! use ember_language::diagnostic::Sources;
//! use ember_language::sexp;
//!
//! let mut sources = Sources::default();
//! let text = "(dialect none \"no rules\" (sort Stmt \"a statement\")
//!   (op scf.skip () Stmt \"nothing\") (op scf.halt () Stmt \"the end\"))";
//! let rules = sources.add("none.rules", text);
//! let paths = [sources.get(rules).path.clone()];
//! let rules = Rules::read(&mut sources, &paths).expect("well-formed rules");
//! let mut answer = |text: &str| {
//!     let file = sources.add("it.cert", text);
//!     check(&rules, &sexp::read(&sources, file).expect("balanced")[0]).is_ok()
//! };
//! assert!(answer("(certificate (exact bitwise) (rules any) (left (scf.skip)) (right (scf.skip)) (steps))"));
//! assert!(!answer("(certificate (exact bitwise) (rules any) (left (scf.skip)) (right (scf.halt)) (steps))"));
//! ```

mod conditions;
mod names;
mod places;
mod ranges;
mod refusal;
mod scope;
mod terms;
pub mod trusted;
mod typing;
mod units;

pub use conditions::Applied;
pub use ember_language::rules::Stated as Rules;
pub use refusal::Refusal;

use ember_language::rules::Exactness::{self, Bitwise};
use ember_language::sexp::{Sexp, deeper};
use ember_values::primitive::form::Form;
use ember_values::scalar::DType;
use std::collections::{BTreeMap, BTreeSet};
use terms::{Fact, Node, T};
use typing::{is_extent, is_name};

/// The largest number of loop variables in a certificate. Every term stores the set of variables that it depends on.
const VARIABLES: usize = 500;

struct Tensor {
    dtype: DType,
    shape: Vec<Sexp>,
    writable: bool,
    rises: bool,
}

/// The terms that the variables of a rule stand for, each with the steps that lead from it to its pattern.
type Means<'a> = BTreeMap<&'a str, (T, &'a [Sexp])>;

/// The state of checking or writing one certificate.
pub struct Checker<'a> {
    rules: &'a Rules,
    /// Rules that are part of the claim: equations between values that are only read.
    given: Rules,
    terms: Vec<(Node, Fact)>,
    known: BTreeMap<Node, T>,
    tensors: BTreeMap<String, Tensor>,
    /// Loop variables with their bounds.
    variables: BTreeMap<T, T>,
    /// Every spelling of a variable's bounds, with the variable. Only variables with names by depth share a spelling;
    /// it then means the first of them.
    spellings: BTreeMap<[T; 4], Vec<T>>,
    /// Loop variables that may have values which their loops do not give them.
    anywhere: BTreeSet<T>,
    /// The loop variables bound around the terms of the steps that are checked, outermost first: each with true if a loop
    /// binds it, or a value that the loop gives it replaces it.
    around: Vec<(String, bool)>,
    exact: Exactness,
}

/// Checks the forms of a certificate. Returns the exactness of the least exact rule that was used.
pub fn check(rules: &Rules, certificate: &Sexp) -> Result<Exactness, Refusal> {
    let forms = certificate.items("certificate").unwrap_or_default();
    let [exact, made, declarations @ .., left, right, steps] = forms else {
        return Err(Refusal::NotACertificate);
    };
    made_with(rules, made)?;
    let mut checker = Checker::new(rules);
    for declaration in declarations {
        checker.declare(declaration)?;
    }
    let (left, right) = (checker.program("left", left)?, checker.program("right", right)?);
    if checker.fact(left).sort != checker.fact(right).sort {
        return Err(Refusal::TwoSorts);
    }
    let steps = steps.items("steps").ok_or(Refusal::NoSteps)?;
    checker.leads(left, steps, right)?;
    let least = checker.exact;
    let told = matches!(exact.items("exact"), Some([word]) if word.atom() == Some(least.name()));
    if told { Ok(least) } else { Err(Refusal::OtherExactness(least)) }
}

/// Checks that a certificate was made with these rules, or that it allows any.
fn made_with(rules: &Rules, form: &Sexp) -> Result<(), Refusal> {
    let Some([word]) = form.items("rules") else { return Err(Refusal::NoRules) };
    match word.atom().unwrap_or_default() {
        "any" => Ok(()),
        digest if digest == rules.digest() => Ok(()),
        digest => Err(Refusal::OtherRules(digest.to_owned())),
    }
}

impl<'a> Checker<'a> {
    /// Creates a checker without declarations.
    pub fn new(rules: &'a Rules) -> Checker<'a> {
        let (terms, known, tensors) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let (given, variables, spellings) = (Rules::default(), BTreeMap::new(), BTreeMap::new());
        let (anywhere, around, exact) = (BTreeSet::new(), Vec::new(), Bitwise);
        Checker {
            rules,
            given,
            terms,
            known,
            tensors,
            variables,
            spellings,
            anywhere,
            around,
            exact,
        }
    }

    /// Adds a declaration.
    pub fn declare(&mut self, form: &Sexp) -> Result<(), Refusal> {
        let twice = match form.form() {
            Some((head @ ("input" | "output" | "scratch"), [name, dtype, shape, rises @ ..])) => {
                let dtype = dtype.atom().and_then(DType::parse).ok_or(Refusal::NoElementType)?;
                let shape = shape.list().ok_or(Refusal::NoExtent)?.to_vec();
                if !shape.iter().all(is_extent) {
                    return Err(Refusal::NoExtent);
                }
                let name = name.atom().filter(|name| is_name(name)).ok_or(Refusal::NoName)?;
                let (name, writable) = (format!("%{name}"), head != "input");
                let offsets = !writable && dtype == DType::I64 && shape.len() == 1;
                let rises = match rises {
                    [] => false,
                    [to] if offsets
                        && matches!(to.items("rises-to"), Some([end]) if is_extent(end)) =>
                    {
                        true
                    }
                    [_] => return Err(Refusal::NotRising),
                    _ => return Err(Refusal::TooMuch),
                };
                let tensor = Tensor { dtype, shape, writable, rises };
                // A `given` form may only refer to tensors declared before it, so that all tensors come first.
                self.tensors.insert(name, tensor).is_some() || !self.given.is_empty()
            }
            Some(("given", [rule])) => {
                let fixed = |word| self.tensors.get(word).is_none_or(|t: &Tensor| !t.writable);
                // What is given is about data: not about loops, nor about numbers in general.
                let about = rule.words().any(|word| word.starts_with('%'))
                    && !rule.words().any(|word| word.starts_with('@'));
                let fixed = rule.words().all(fixed) && about && self.equates_values(rule);
                let own = fixed.then(|| self.given.give(rule)).flatten();
                let twice = own.ok_or(Refusal::NotGivable)?;
                let name = rule.items("rule").and_then(|items| items.first()?.atom());
                name.into_iter().for_each(|name| self.note_range(name));
                twice
            }
            Some(("variable", [word, bounds, steps @ ..])) => {
                let word =
                    word.atom().filter(|word| word.starts_with('@')).ok_or(Refusal::NoVariable)?;
                let bounds = self.read(bounds, &Means::new())?;
                let ("bounds", &[name, lo, hi, step]) = self.node(bounds) else {
                    return Err(Refusal::NoBounds);
                };
                if !self.are_bounds([name, lo, hi, step]) {
                    return Err(Refusal::NoBounds);
                }
                let (first, word) =
                    (!self.known.contains_key(&(word.to_owned(), Vec::new())), word);
                let word = self.add((word.to_owned(), Vec::new()));
                let steps = match steps {
                    [anywhere, steps @ ..] if first && anywhere.atom() == Some("anywhere") => {
                        self.anywhere.insert(word);
                        steps
                    }
                    steps => steps,
                };
                // Every further declaration of a variable is another spelling of its bounds, proved by its steps.
                let first = *self.variables.entry(word).or_insert(bounds);
                self.leads(first, steps, bounds)?;
                if self.variables.len() > VARIABLES {
                    return Err(Refusal::TooManyVariables(VARIABLES));
                }
                let numbered = self.is_numbered(name);
                let others = self.spellings.entry([name, lo, hi, step]).or_default();
                let twice = others.contains(&word) || !(others.is_empty() || numbered);
                others.push(word);
                twice
            }
            _ => return Err(Refusal::NoDeclaration),
        };
        if twice { Err(Refusal::DeclaredBefore) } else { Ok(()) }
    }

    /// Reads a program, which must be closed and well-formed.
    fn program(&mut self, side: &str, form: &Sexp) -> Result<T, Refusal> {
        let Some([term]) = form.items(side) else { return Err(Refusal::NoProgram) };
        let term = self.read(term, &Means::new())?;
        let Fact { fits, free, typed, sort, loops, .. } = self.fact(term);
        if !(*fits && free.is_empty()) {
            return Err(Refusal::DoesNotFit(side.to_owned()));
        }
        if !(*typed && sort.is_some()) {
            return Err(Refusal::IllTyped(side.to_owned()));
        }
        // A name that a rule makes is no program's.
        let numbered = |word: &String| {
            let variable = self.known.get(&(word.clone(), Vec::new()));
            let bounds = variable.and_then(|variable| self.variables.get(variable));
            bounds.is_some_and(|bounds| self.is_numbered(self.node(*bounds).1[0]))
        };
        if !loops.iter().all(numbered) {
            return Err(Refusal::OtherName(side.to_owned()));
        }
        if let Some(variable) = self.other_bounds(term) {
            return Err(Refusal::OtherBounds(variable));
        }
        match self.loose_in(term).first() {
            Some(variable) => Err(Refusal::OutOfRange(variable.clone())),
            None => Ok(term),
        }
    }

    /// Checks that the steps lead from one term to another, wherever these stand.
    fn leads(&mut self, from: T, steps: &[Sexp], to: T) -> Result<(), Refusal> {
        let around = std::mem::take(&mut self.around);
        let after = self.after(from, steps);
        self.around = around;
        if after? == to { Ok(()) } else { Err(Refusal::LeadElsewhere) }
    }

    /// Returns the term that results from applying steps to a term.
    fn after(&mut self, from: T, steps: &[Sexp]) -> Result<T, Refusal> {
        let mut whole = from;
        for (n, step) in steps.iter().enumerate() {
            let (name, items) = step.form().unwrap_or_default();
            let next = deeper(|| match (name, items) {
                ("inside", [at, steps @ ..]) => self.inside(whole, at, steps),
                _ => self.stepped(whole, name, items),
            });
            whole = next.map_err(|why| {
                let (number, rule) = (n + 1, name.to_owned());
                Refusal::Step { number, rule, why: Box::new(why) }
            })?;
        }
        Ok(whole)
    }

    /// Returns the term that results from applying steps to one part of a term, whose positions are those in the part.
    fn inside(&mut self, whole: T, at: &Sexp, steps: &[Sexp]) -> Result<T, Refusal> {
        let way = at.items("at").ok_or(Refusal::NotAStep)?;
        let old = self.part(whole, way).ok_or(Refusal::SomethingElse)?;
        let outside = self.around.len();
        let within = self.binders(whole, way);
        self.around.extend(within);
        let new = self.after(old, steps);
        self.around.truncate(outside);
        self.with(whole, way, old, new?)
    }

    /// Returns the term that results from applying a step to a term.
    fn stepped(&mut self, whole: T, name: &str, parts: &[Sexp]) -> Result<T, Refusal> {
        let [at, how, parts @ ..] = parts else { return Err(Refusal::NotAStep) };
        let [old, new] = match (name, how.atom(), parts) {
            ("computed", _, [new]) => {
                let (sides, loose) = self.computed(how, new)?;
                if let Some(variable) = loose.first() {
                    return Err(Refusal::OutOfRange(variable.clone()));
                }
                sides
            }
            ("renamed", _, [new]) => self.renamed(how, new)?,
            (_, Some(how @ ("forward" | "backward")), [because, parts @ ..]) => {
                let Applied { sides, reasons, loose } =
                    self.applied(name, parts, how == "forward")?;
                if let Some(variable) = loose.first() {
                    return Err(Refusal::OutOfRange(variable.clone()));
                }
                let told =
                    because.items("because").ok_or(Refusal::NoReasons)?.iter().map(Sexp::text);
                if told.ne(reasons.iter().map(|reason| Some(reason.as_str()))) {
                    return Err(Refusal::OtherReasons(reasons));
                }
                sides
            }
            _ => return Err(Refusal::NoDirection),
        };
        self.with(whole, at.items("at").ok_or(Refusal::SomethingElse)?, old, new)
    }

    /// Returns a term with another part at a position, where a part is expected.
    fn with(&mut self, whole: T, way: &[Sexp], old: T, new: T) -> Result<T, Refusal> {
        let next = self.replaced(whole, way, old, new).ok_or(Refusal::SomethingElse)?;
        let within = self.binders(whole, way);
        if let Some(variable) = self.unbound(whole, [old, new], &within) {
            return Err(Refusal::Unbound(variable.to_owned()));
        }
        let typed = self.fact(next).typed;
        typed.then_some(next).ok_or_else(|| Refusal::IllTyped("what it makes".to_owned()))
    }

    /// Two terms that are the same but for the words of the loop variables bound in them.
    fn renamed(&mut self, old: &Sexp, new: &Sexp) -> Result<[T; 2], Refusal> {
        let (old, new) = (self.read(old, &Means::new())?, self.read(new, &Means::new())?);
        if self.alike(old, new) { Ok([old, new]) } else { Err(Refusal::NotTheSame) }
    }

    /// Checks that two terms are equal by arithmetic and declarations alone, without a rule. Returns them, and the loop
    /// variables that may get values in the second, and not in the first, which their loops do not give them.
    pub fn computed(&mut self, old: &Sexp, new: &Sexp) -> Result<([T; 2], Vec<String>), Refusal> {
        let (old, new) = (self.read(old, &Means::new())?, self.read(new, &Means::new())?);
        let (a, b) = (self.fact(old), self.fact(new));
        let plain = |t: T| match self.form(t) {
            Some(Form::Carried { x, to: Some(_) }) => x,
            _ => t,
        };
        let same = a.number.is_some() && a.number == b.number
            || a.linear.is_some() && a.linear == b.linear
            // A conversion of a value to its own type is the value itself, regardless of how the type is spelled.
            || a.dtype.is_some() && a.dtype == b.dtype
                && (plain(old) == plain(new) || plain(old) == new || old == plain(new));
        let loose = self.loose_between(old, new);
        if same { Ok(([old, new], loose)) } else { Err(Refusal::NotTheSame) }
    }
}

fn meant<'a>(means: &Means<'a>, v: &str) -> Result<(T, &'a [Sexp]), Refusal> {
    means.get(v).copied().ok_or_else(|| Refusal::NotKnown(v.to_owned()))
}
