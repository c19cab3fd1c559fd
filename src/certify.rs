//! Checks certificates: that two programs are equal because rules lead from the one to the other.
//!
//! On its own: terms, rules, facts and conditions are read and derived here anew, without an
//! e-graph and without any code that searched for the proof. A certificate is a list of steps; each names
//! a rule, what its variables stand for and where it is applied. Both sides of the rule are written down
//! with that; the one must stand where it is applied, and the other takes its place. What the certificate
//! says a condition rests on must be what is found here.
//!
//! Loop variables are the words `@0`, `@1`, …, declared with their bounds: equal bounds may be spelled in
//! several ways, of which each must be proved from the first. Rules are trusted to be right (`verify` is
//! there for that), and so is arithmetic on scalars.
//!
//! ```text
//! (certificate
//!   (exact EXACTNESS)
//!   (input NAME DTYPE (EXTENT …)) … (output …) … (scratch …) …
//!   (variable @K NAME LO HI STEP) …
//!   (left TERM) (right TERM)          the programs, with loop variables as they are written there
//!   (start TERM)                      the first, with variables as words
//!   STEP …)
//!
//! STEP:  (RULE forward|backward (at N …) (?x TERM) … (equals ?x STEP …) … (because TEXT) …)
//!        (computed (at N …) TERM)                     numbers, declared extents, casts that do nothing
//!        (spelled @K LO HI STEP (lo STEP …) (hi STEP …) (step STEP …))
//! ```

mod conditions;
mod facts;
mod rules;
mod term;

pub use rules::Rules;

use crate::rules::Exactness;
use crate::sexp::Sexp;
use ember_targets::dlc::{Dim, SizeId, TensorDecl};
use ember_targets::scalar::DType;
use facts::Fact;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use term::{Head, T, Terms, deeper};

/// A loop variable.
pub(crate) struct Variable {
    name: T,
    bounds: [T; 3],
    /// Bounds that were proved to be the same.
    spellings: BTreeSet<[T; 3]>,
}

/// What a certificate is about.
pub struct Claim {
    /// The forms that declare tensors, and the two programs.
    pub forms: Vec<Sexp>,
    /// The least exact rule that was used.
    pub exact: Exactness,
    /// How many steps there are.
    pub steps: usize,
}

/// A certificate that is being checked, or written.
pub struct Checker<'a> {
    rules: &'a Rules,
    terms: Terms,
    facts: Vec<Rc<Fact>>,
    tensors: HashMap<String, TensorDecl>,
    sizes: Vec<String>,
    variables: BTreeMap<String, Variable>,
    exact: Exactness,
    steps: usize,
}

/// Checks the forms of a certificate.
pub fn check(rules: &Rules, certificate: &Sexp) -> Result<Claim, String> {
    let Some(("certificate", forms)) = certificate.form() else {
        return Err("not a certificate".to_owned());
    };
    let mut checker = Checker::new(rules);
    let mut claimed = Exactness::Bitwise;
    let (mut sides, mut whole) = (Vec::new(), None);
    let mut claim = Vec::new();
    for form in forms {
        let Some((head, items)) = form.form() else { return Err("a form was expected".to_owned()) };
        match (head, items) {
            ("exact", [word]) => {
                let word = word.atom().unwrap_or_default();
                claimed = Exactness::parse(word).ok_or("no such exactness")?;
            }
            ("input" | "output" | "scratch", [name, dtype, shape]) => {
                checker.declare(head != "input", name, dtype, shape)?;
                claim.push(form.clone());
            }
            ("variable", [name, parts @ ..]) => checker.variable(name, parts)?,
            ("left" | "right", [term]) => {
                sides.push((head, checker.terms.read(term)?));
                claim.push(form.clone());
            }
            ("start", [term]) if whole.is_none() => whole = Some(checker.terms.read(term)?),
            _ => {
                let at = whole.ok_or("a step before the start")?;
                whole = Some(checker.step(at, form)?);
                checker.steps += 1;
                continue;
            }
        }
        if let (("start", _), Some(start)) = ((head, items), whole) {
            let [("left", left), ("right", _)] = sides[..] else {
                return Err("no sides".to_owned());
            };
            checker
                .same(left, start, &mut Vec::new())
                .map_err(|e| format!("the first program: {e}"))?;
        }
    }
    let [("left", _), ("right", right)] = sides[..] else { return Err("no sides".to_owned()) };
    let end = whole.ok_or("no start")?;
    checker.same(right, end, &mut Vec::new()).map_err(|e| format!("the second program: {e}"))?;
    if checker.exact != claimed {
        return Err(format!("it is {} and claims to be {claimed}", checker.exact));
    }
    Ok(Claim { forms: claim, exact: claimed, steps: checker.steps })
}

impl<'a> Checker<'a> {
    /// Nothing is declared yet.
    pub fn new(rules: &'a Rules) -> Checker<'a> {
        Checker {
            rules,
            terms: Terms::default(),
            facts: Vec::new(),
            tensors: HashMap::new(),
            sizes: Vec::new(),
            variables: BTreeMap::new(),
            exact: Exactness::Bitwise,
            steps: 0,
        }
    }

    /// Declares a tensor.
    pub fn declare(
        &mut self,
        writable: bool,
        name: &Sexp,
        dtype: &Sexp,
        shape: &Sexp,
    ) -> Result<(), String> {
        let name = name.atom().ok_or("a tensor without a name")?.to_owned();
        let dtype = dtype.atom().and_then(DType::parse).ok_or("no element type")?;
        let mut extents = Vec::new();
        for extent in shape.list().ok_or("no shape")? {
            let word = extent.atom().ok_or("an extent is a word")?;
            extents.push(match word.parse() {
                Ok(n) => Dim::Const(n),
                Err(_) => {
                    let known = self.sizes.iter().position(|size| size == word);
                    let at = known.unwrap_or(self.sizes.len());
                    if known.is_none() {
                        self.sizes.push(word.to_owned());
                    }
                    Dim::Size(SizeId(at as u32))
                }
            });
        }
        let tensor = TensorDecl { name: name.clone(), dtype, shape: extents, writable };
        match self.tensors.insert(format!("%{name}"), tensor) {
            Some(_) => Err(format!("`{name}` is declared twice")),
            None => Ok(()),
        }
    }

    /// Declares a loop variable, whose bounds mention earlier ones only.
    pub fn variable(&mut self, name: &Sexp, parts: &[Sexp]) -> Result<(), String> {
        let word = name.atom().filter(|word| word.starts_with('@')).ok_or("no variable")?;
        let parts: Vec<T> = parts.iter().map(|p| self.terms.read(p)).collect::<Result<_, _>>()?;
        let &[name, lo, hi, step] = parts.as_slice() else { return Err("no bounds".to_owned()) };
        for part in [name, lo, hi, step] {
            self.known(part)?;
            self.fact(part);
        }
        let twin = |v: &Variable| v.name == name && v.bounds == [lo, hi, step];
        if self.variables.values().any(twin) {
            return Err(format!("`{word}` is another variable, too"));
        }
        let bounds = [lo, hi, step];
        let variable = Variable { name, bounds, spellings: BTreeSet::from([bounds]) };
        match self.variables.insert(word.to_owned(), variable) {
            Some(_) => Err(format!("`{word}` is declared twice")),
            None => Ok(()),
        }
    }

    /// Whether every variable of a term is declared.
    fn known(&self, term: T) -> Result<(), String> {
        let mut open = vec![term];
        let mut seen = BTreeSet::new();
        while let Some(term) = open.pop() {
            let name = self.terms.name(term);
            if name == "var" || (name.starts_with('@') && !self.variables.contains_key(name)) {
                return Err(format!("`{name}` is not declared"));
            }
            open.extend(self.terms.operands(term).iter().filter(|t| seen.insert(**t)));
        }
        Ok(())
    }

    /// Whether a program as it is written is a term with variables as words. Loops around bind what
    /// is written to words, each to its own.
    fn same(&mut self, written: T, term: T, around: &mut Vec<(T, T)>) -> Result<(), String> {
        if let Some((_, word)) = around.iter().rev().find(|(variable, _)| *variable == written) {
            let same = *word == term;
            return if same { Ok(()) } else { Err("another loop variable".to_owned()) };
        }
        let (name, operands) =
            (self.terms.name(written).to_owned(), self.terms.operands(written).to_vec());
        if name.starts_with('@') {
            return Err("a program has no such words".to_owned());
        }
        if let Some(folded) = self.declared(&name, &operands)
            && folded == term
        {
            return Ok(());
        }
        let others = self.terms.operands(term).to_vec();
        if self.terms.head(written) != self.terms.head(term) || operands.len() != others.len() {
            return Err(format!("`{name}` is not `{}`", self.terms.name(term)));
        }
        let binder = self.rules.binders.get(&(name, operands.len())).copied();
        for (at, (a, b)) in operands.iter().zip(&others).enumerate() {
            let own = binder.filter(|(variable, body)| at == *variable || at == *body);
            let Some((variable, _)) = own else {
                deeper(|| self.same(*a, *b, around))?;
                continue;
            };
            if at == variable {
                self.binds(*a, *b, around)?;
                continue;
            }
            around.push((operands[variable], others[variable]));
            let result = deeper(|| self.same(*a, *b, around));
            around.pop();
            result?;
        }
        Ok(())
    }

    /// Whether a loop variable as it is written is that of a word that no loop around has.
    fn binds(&mut self, written: T, word: T, around: &mut Vec<(T, T)>) -> Result<(), String> {
        let operands = self.terms.operands(written).to_vec();
        let (true, [_, lo, hi, step]) = (self.terms.name(written) == "var", operands.as_slice())
        else {
            return Err("not a loop variable".to_owned());
        };
        let variable = self.variables.get(self.terms.name(word)).ok_or("an unknown variable")?;
        if self.terms.name(variable.name) != "depth" || around.iter().any(|(_, w)| *w == word) {
            return Err("the variable of another loop".to_owned());
        }
        let spellings: Vec<[T; 3]> = variable.spellings.iter().copied().collect();
        let fits = |checker: &mut Self, [l, h, s]: [T; 3], around: &mut Vec<(T, T)>| {
            checker.same(*lo, l, around)?;
            checker.same(*hi, h, around)?;
            checker.same(*step, s, around)
        };
        if spellings.into_iter().any(|bounds| fits(self, bounds, around).is_ok()) {
            return Ok(());
        }
        Err("a loop variable with other bounds".to_owned())
    }

    /// A declared extent as the number or size that it is.
    fn declared(&mut self, name: &str, operands: &[T]) -> Option<T> {
        let ("dim", [address, k]) = (name, operands) else { return None };
        self.fact((*address).max(*k));
        match self.extent(operands)? {
            Dim::Const(n) => Some(self.terms.int(i64::try_from(n).ok()?)),
            Dim::Size(id) => {
                let size = self.terms.op(&format!("%{}", self.sizes[id.index()]), &[]);
                Some(self.terms.op("size", &[size]))
            }
        }
    }

    /// The term after a step.
    pub fn step(&mut self, whole: T, step: &Sexp) -> Result<T, String> {
        let Some((name, items)) = step.form() else { return Err("a step was expected".to_owned()) };
        let result = match (name, items) {
            ("spelled", [variable, parts @ ..]) => self.spelled(variable, parts).map(|()| whole),
            ("computed", [at, term]) => self.computed(whole, at, term),
            (_, [direction, at, parts @ ..]) => self.applied(whole, name, (direction, at), parts),
            _ => Err("no step".to_owned()),
        };
        result.map_err(|e| format!("{name}: {e}"))
    }

    /// Takes over a step that proves how bounds may be spelled.
    pub fn learn(&mut self, step: &Sexp) -> Result<(), String> {
        let nothing = self.terms.int(0);
        self.step(nothing, step).map(|_| ())
    }

    /// Steps from one term to another.
    fn leads(&mut self, from: T, steps: &[Sexp], to: T) -> Result<(), String> {
        let mut at = from;
        for step in steps {
            at = deeper(|| self.step(at, step))?;
        }
        if at == to { Ok(()) } else { Err("steps that lead elsewhere".to_owned()) }
    }

    fn spelled(&mut self, variable: &Sexp, parts: &[Sexp]) -> Result<(), String> {
        let [lo, hi, step, proofs @ ..] = parts else { return Err("no bounds".to_owned()) };
        let word = variable.atom().unwrap_or_default();
        let bounds = self.variables.get(word).ok_or("an unknown variable")?.bounds;
        let other = [self.terms.read(lo)?, self.terms.read(hi)?, self.terms.read(step)?];
        let [lo, hi, step] = proofs else { return Err("no proofs".to_owned()) };
        for (at, (head, proof)) in [("lo", lo), ("hi", hi), ("step", step)].into_iter().enumerate()
        {
            let steps = proof.form().filter(|(found, _)| *found == head).ok_or("no proof")?.1;
            self.known(other[at])?;
            self.leads(bounds[at], steps, other[at])?;
        }
        if let Some(variable) = self.variables.get_mut(word) {
            variable.spellings.insert(other);
        }
        Ok(())
    }

    fn position(at: &Sexp) -> Result<Vec<usize>, String> {
        let Some(("at", items)) = at.form() else { return Err("no position".to_owned()) };
        let number = |item: &Sexp| item.atom().and_then(|word| word.parse().ok());
        items.iter().map(|i| number(i).ok_or("no position".to_owned())).collect()
    }

    /// A part that is replaced by what follows from numbers and declarations alone.
    fn computed(&mut self, whole: T, at: &Sexp, term: &Sexp) -> Result<T, String> {
        let position = Self::position(at)?;
        let new = self.terms.read(term)?;
        self.known(new)?;
        let way = self.terms.path(whole, &position)?;
        let old = way[position.len()];
        if !self.equal(old, new) && !self.equal(new, old) {
            return Err("not the same by numbers and declarations".to_owned());
        }
        Ok(self.terms.replaced(&way, &position, new))
    }

    fn equal(&mut self, old: T, new: T) -> bool {
        let (before, after) = (self.fact(old), self.fact(new));
        if before.constant.is_some() && before.constant == after.constant {
            return before.dtype == after.dtype && before.lanes == after.lanes;
        }
        let (name, operands) = (self.terms.name(old).to_owned(), self.terms.operands(old).to_vec());
        if self.declared(&name, &operands) == Some(new) {
            return true;
        }
        match (name.as_str(), operands.as_slice()) {
            ("scf.convert", [_, x]) => {
                let Some(dtype) = before.dtype else { return false };
                let dtype = self.terms.op(dtype.name(), &[]);
                self.terms.op("scf.cast", &[dtype, *x]) == new
            }
            ("scf.cast", [_, x]) => {
                *x == new && before.dtype.is_some() && before.dtype == after.dtype
            }
            _ => false,
        }
    }

    /// A rule that is applied.
    fn applied(
        &mut self,
        whole: T,
        name: &str,
        (direction, at): (&Sexp, &Sexp),
        parts: &[Sexp],
    ) -> Result<T, String> {
        let rule = self.rules.rules.get(name).ok_or("no such rule")?.clone();
        let mut means: HashMap<String, T> = HashMap::new();
        let (mut proofs, mut reasons) = (HashMap::new(), Vec::new());
        for part in parts {
            match part.form() {
                Some(("because", [text])) => reasons.push(text.text().ok_or("no reason")?),
                Some(("equals", [v, steps @ ..])) => {
                    proofs.insert(v.atom().unwrap_or_default(), steps);
                }
                Some((v, [term])) if v.starts_with('?') => {
                    let term = self.terms.read(term)?;
                    self.known(term)?;
                    if means.insert(v.to_owned(), term).is_some() {
                        return Err(format!("`{v}` twice"));
                    }
                }
                _ => return Err("not understood".to_owned()),
            }
        }
        if means.keys().cloned().collect::<BTreeSet<_>>() != self.rules.variables(&rule) {
            return Err("other variables than the rule's".to_owned());
        }
        for (v, pattern) in &rule.wheres {
            let from = *means.get(v).ok_or("a variable is missing")?;
            let variable = self.variables.contains_key(self.terms.name(from));
            let to = self.write(*pattern, &means)?;
            let steps = proofs.remove(v.as_str()).unwrap_or_default();
            if !(variable && to == from) {
                self.leads(from, steps, to).map_err(|e| format!("`{v}`: {e}"))?;
            }
        }
        for (v, call) in &rule.fors {
            let n =
                means.get(v).map(|n| self.fact(*n)).and_then(|f| f.integer()).ok_or("no number")?;
            let call = self.write(*call, &means)?;
            self.gives(call, n)?;
        }
        let found = self.whys(&rule, &means)?;
        if !found.iter().map(String::as_str).eq(reasons) || !proofs.is_empty() {
            return Err(format!("its conditions hold for other reasons: {found:?}"));
        }
        let sides = [self.write(rule.left, &means)?, self.write(rule.right, &means)?];
        let [old, new] = match direction.atom() {
            Some("forward") => sides,
            Some("backward") => [sides[1], sides[0]],
            _ => return Err("no direction".to_owned()),
        };
        let position = Self::position(at)?;
        let way = self.terms.path(whole, &position)?;
        if way[position.len()] != old {
            return Err("something else stands there".to_owned());
        }
        self.exact = self.exact.max(rule.exact);
        Ok(self.terms.replaced(&way, &position, new))
    }

    /// Why each condition of a rule holds where its variables stand for terms.
    pub fn reasons(&mut self, rule: &str, means: &[(String, Sexp)]) -> Result<Vec<String>, String> {
        let rule = self.rules.rules.get(rule).ok_or("no such rule")?.clone();
        let mut terms = HashMap::new();
        for (v, term) in means {
            terms.insert(v.clone(), self.terms.read(term)?);
        }
        self.whys(&rule, &terms)
    }

    fn whys(
        &mut self,
        rule: &rules::Rule,
        means: &HashMap<String, T>,
    ) -> Result<Vec<String>, String> {
        let mut reasons = Vec::new();
        for guard in &rule.guards {
            let call = self.write(*guard, means)?;
            reasons.push(self.holds(call)?);
        }
        Ok(reasons)
    }

    /// A pattern of a rule with terms for its variables: numbers are computed, loop variables are
    /// words.
    fn write(&mut self, pattern: T, means: &HashMap<String, T>) -> Result<T, String> {
        let rules = self.rules;
        let variables = &self.variables;
        self.terms.write(Some(&rules.terms), pattern, &mut |terms, name, operands| match (
            name, operands,
        ) {
            (v, []) if v.starts_with('?') => {
                means.get(v).copied().map(Some).ok_or_else(|| format!("`{v}` is missing"))
            }
            ("!", [op, a, b]) => {
                let number = |t: T| match terms.head(t) {
                    Head::Int(n) => Some(*n),
                    _ => None,
                };
                let n =
                    number(*a).zip(number(*b)).and_then(|(a, b)| computed(terms.name(*op), a, b));
                n.map(|n| Some(terms.int(n)))
                    .ok_or_else(|| "a number that does not exist".to_owned())
            }
            ("var", [name, lo, hi, step]) => {
                let own =
                    |v: &&Variable| v.name == *name && v.spellings.contains(&[*lo, *hi, *step]);
                let word = variables.iter().find(|(_, v)| own(v)).map(|(word, _)| word.clone());
                let word = word.ok_or_else(|| "a loop variable that is not declared".to_owned())?;
                Ok(Some(terms.op(&word, &[])))
            }
            _ => Ok(None),
        })
    }
}

/// `(! OP A B)`, where it exists.
fn computed(op: &str, a: i64, b: i64) -> Option<i64> {
    match op {
        "add" => a.checked_add(b),
        "sub" => a.checked_sub(b),
        "mul" => a.checked_mul(b),
        "div" => a.checked_div(b),
        "min" => Some(a.min(b)),
        "max" => Some(a.max(b)),
        _ => None,
    }
}
