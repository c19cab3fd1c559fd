//! Checks certificates: that two programs are equal because rules lead from the one to the other. README
//! describes their format.
//!
//! On its own: terms, rules, facts and conditions are read and derived here anew, without an e-graph and
//! without any code that searched for the proof. Rules are trusted to be right (`verify` is there for
//! that), and so are arithmetic on scalars and the reader of S-expressions.

mod conditions;
mod places;
mod rules;
mod terms;

pub use rules::Rules;

use crate::sexp::{Sexp, clauses, deeper};
use ember_targets::scalar::DType;
use std::collections::HashMap;
use terms::{Fact, Node, T};

/// What rules may say of how exact they are, the most exact first.
const EXACTNESS: [&str; 3] = ["bitwise", "reassoc", "approx"];

/// How many loop variables a certificate has at most, since of each term is known which it depends on.
const VARIABLES: usize = 500;

/// What a certificate is about.
pub struct Claim {
    /// Its declarations and the two programs.
    pub forms: Vec<Sexp>,
    /// The least exact of the rules that were used.
    pub exact: &'static str,
    /// How many steps there are.
    pub steps: usize,
}

struct Tensor {
    dtype: DType,
    shape: Vec<Sexp>,
    writable: bool,
    /// Whether it is declared that its elements never fall.
    rises: bool,
}

/// What the variables of a rule stand for, and the steps from there to the patterns that they have.
type Means<'a> = HashMap<&'a str, (T, &'a [Sexp])>;

/// A certificate that is being checked, or written.
pub struct Checker<'a> {
    rules: &'a Rules,
    terms: Vec<(Node, Fact)>,
    known: HashMap<Node, T>,
    tensors: HashMap<String, Tensor>,
    /// Loop variables with their bounds, and the variables by all spellings of those.
    variables: HashMap<T, T>,
    spellings: HashMap<[T; 4], T>,
    exact: usize,
}

/// Checks the forms of a certificate.
pub fn check(rules: &Rules, certificate: &Sexp) -> Result<Claim, String> {
    let Some([exact, forms @ .., steps]) = certificate.items("certificate") else {
        return no("not a certificate");
    };
    let [declarations @ .., left, right] = forms else { return no("two programs were expected") };
    let mut checker = Checker::new(rules);
    for declaration in declarations {
        checker.declare(declaration)?;
    }
    let (left, right) = (checker.program("left", left)?, checker.program("right", right)?);
    let steps = steps.items("steps").ok_or("steps were expected")?;
    checker.leads(left, steps, right)?;
    let least = EXACTNESS[checker.exact];
    if !matches!(exact.items("exact"), Some([word]) if word.atom() == Some(least)) {
        return Err(format!("it is {least} and says otherwise"));
    }
    Ok(Claim { forms: forms.to_vec(), exact: least, steps: steps.len() })
}

fn no<R>(why: &str) -> Result<R, String> {
    Err(why.to_owned())
}

impl<'a> Checker<'a> {
    /// Nothing is declared yet.
    pub fn new(rules: &'a Rules) -> Checker<'a> {
        let (terms, known, tensors) = (Vec::new(), HashMap::new(), HashMap::new());
        let (variables, spellings) = (HashMap::new(), HashMap::new());
        Checker { rules, terms, known, tensors, variables, spellings, exact: 0 }
    }

    /// Takes over a declaration.
    pub fn declare(&mut self, form: &Sexp) -> Result<(), String> {
        let twice = match form.form() {
            Some((head @ ("input" | "output" | "scratch"), [name, dtype, shape, rises @ ..])) => {
                let dtype = dtype.atom().and_then(DType::parse).ok_or("no element type")?;
                let shape = shape.list().unwrap_or_default().to_vec();
                let name = format!("%{}", name.atom().unwrap_or_default());
                let said = rises.iter().all(|form| matches!(form.items("rises-to"), Some([_])));
                if !said || rises.len() > usize::from(head == "input") {
                    return no("what says nothing of a tensor");
                }
                let rises = !rises.is_empty();
                let tensor = Tensor { dtype, shape, writable: head != "input", rises };
                self.tensors.insert(name, tensor).is_some()
            }
            Some(("variable", [word, bounds, steps @ ..])) => {
                let word = word.atom().filter(|word| word.starts_with('@')).ok_or("no variable")?;
                let bounds = self.read(bounds, &Means::new())?;
                let ("bounds", &[name, lo, hi, step]) = self.node(bounds) else {
                    return no("no bounds");
                };
                let word = self.add((word.to_owned(), Vec::new()));
                // Whatever is declared of a variable again are other spellings of its bounds.
                let first = *self.variables.entry(word).or_insert(bounds);
                self.leads(first, steps, bounds)?;
                if self.variables.len() > VARIABLES {
                    return Err(format!("more than {VARIABLES} loop variables"));
                }
                self.spellings.insert([name, lo, hi, step], word).is_some()
            }
            _ => return no("what declares nothing"),
        };
        if twice { no("this is declared before") } else { Ok(()) }
    }

    /// Reads a program.
    fn program(&mut self, side: &str, form: &Sexp) -> Result<T, String> {
        let Some([term]) = form.items(side) else { return no("a program was expected") };
        let term = self.read(term, &Means::new())?;
        let fits = self.fact(term).fits && self.fact(term).free.is_empty();
        let fits = fits.then_some(term);
        fits.ok_or_else(|| format!("{side}: loops, variables or tensors that do not fit"))
    }

    /// Whether steps lead from one term to another.
    fn leads(&mut self, from: T, steps: &[Sexp], to: T) -> Result<(), String> {
        let mut whole = from;
        for (n, step) in steps.iter().enumerate() {
            let (name, items) = step.form().unwrap_or_default();
            let next = deeper(|| self.stepped(whole, name, items));
            whole = next.map_err(|e| format!("step {}, {name}: {e}", n + 1))?;
        }
        if whole == to { Ok(()) } else { no("the steps lead elsewhere") }
    }

    /// What a step makes of a term.
    fn stepped(&mut self, whole: T, name: &str, parts: &[Sexp]) -> Result<T, String> {
        let [at, how, parts @ ..] = parts else { return no("not a step") };
        let [old, new] = match (name, how.atom(), parts) {
            ("computed", _, [new]) => self.computed(how, new)?,
            (_, Some("forward"), [because, parts @ ..]) => self.applied(name, because, parts)?,
            (_, Some("backward"), [because, parts @ ..]) => {
                let [left, right] = self.applied(name, because, parts)?;
                [right, left]
            }
            _ => return no("neither forward nor backward"),
        };
        let next = at.items("at").and_then(|way| self.replaced(whole, way, old, new));
        next.ok_or_else(|| "something else stands there".to_owned())
    }

    /// Two terms that are the same by numbers and declarations alone.
    fn computed(&mut self, old: &Sexp, new: &Sexp) -> Result<[T; 2], String> {
        let (old, new) = (self.read(old, &Means::new())?, self.read(new, &Means::new())?);
        let same = |old: T, new: T| {
            let (a, b) = (self.fact(old), self.fact(new));
            match (self.node(old), self.node(new)) {
                _ if a.number.is_some() && a.number == b.number => true,
                (("dim", address), ("size", &[size])) => {
                    self.extent(address).is_some_and(|n| self.name(size) == format!("%{n}"))
                }
                (("scf.convert", &[_, x]), ("scf.cast", &[dtype, y])) => {
                    x == y && a.dtype.map(DType::name) == Some(self.name(dtype))
                }
                (("scf.cast", &[_, x]), _) => x == new && a.dtype.is_some() && a.dtype == b.dtype,
                _ => false,
            }
        };
        if same(old, new) || same(new, old) { Ok([old, new]) } else { no("not the same") }
    }

    /// The two sides of a rule that is applied.
    fn applied(&mut self, name: &str, because: &Sexp, parts: &[Sexp]) -> Result<[T; 2], String> {
        let (rule, mut means, reasons) = self.conditions(name, parts)?;
        let told = because.items("because").ok_or("no reasons")?.iter().map(Sexp::text);
        if told.ne(reasons.iter().map(|reason| Some(reason.as_str()))) {
            return Err(format!("its conditions hold for other reasons: {reasons:?}"));
        }
        for (key, values) in clauses(&rule.items) {
            let [v, pattern] = values else { continue };
            let v = v.atom().unwrap_or_default();
            match key {
                ":let" => drop(means.insert(v, (self.read(pattern, &means)?, &[]))),
                ":where" | ":with" => {
                    let to = self.read(pattern, &means)?;
                    let (from, steps) = *means.get(v).ok_or_else(|| format!("`{v}` is missing"))?;
                    self.leads(from, steps, to)?;
                }
                _ => {}
            }
        }
        self.exact = self.exact.max(rule.exact);
        let [left, _, right, ..] = &rule.items[..] else { return no("a rule without sides") };
        Ok([self.read(left, &means)?, self.read(right, &means)?])
    }

    /// Why each condition of a rule holds where its variables stand for what the parts of a step say.
    pub fn reasons(&mut self, rule: &str, parts: &[Sexp]) -> Result<Vec<String>, String> {
        self.conditions(rule, parts).map(|(_, _, reasons)| reasons)
    }
}
