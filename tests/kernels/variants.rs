//! Textbook kernels, and their variants by source transformations: tiled and unrolled loops, and wrong forms of both.
//!
//! A kernel is a file `tests/kernels/NAME.kernel`: declarations and one program. Its first line names the perfect nests
//! of loops that are tiled, `tile (i j) …`, and the innermost loops that are unrolled, `unroll (k)`.

use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::load::load;
use ember_language::{sexp, symbolic};
use std::path::Path;
use std::sync::LazyLock;
use symbolic_expressions::Sexp;

/// The forms that transformations write, each a list of its name and the form.
static FORMS: LazyLock<Vec<Sexp>> = LazyLock::new(|| {
    let mut sources = Sources::new(Disk);
    let file = sources.add("forms.sexp", include_str!("forms.sexp"));
    let forms = sexp::read(&sources, file).expect("a balanced text");
    forms.iter().map(symbolic::value).collect()
});

/// A kernel, and the loops that its variants change.
pub struct Kernel {
    /// The name of its file.
    pub name: String,
    declarations: Vec<Sexp>,
    statements: Vec<Sexp>,
    /// Perfect nests of loops, by the names of their variables from the outside in.
    tiled: Vec<Vec<String>>,
    /// Innermost loops.
    unrolled: Vec<String>,
}

/// A variant of a kernel, together with the kernel as one text for `equiv`.
pub struct Variant {
    /// The name of the transformation.
    pub name: String,
    /// True if the variant does the same as the kernel.
    pub equal: bool,
    /// Declarations, the kernel and the variant.
    pub text: String,
}

/// Changes of one loop, which are correct or wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Strips are not cut off at the end of the loop.
    Unclamped,
    /// Strips are shorter than the step from one to the next.
    Short,
    /// The loop over strips ends one earlier.
    Early,
    /// The iterations beyond the last whole group are lost.
    NoRemainder,
    /// All iterations of a group are the first.
    SameIndex,
}

impl Kernel {
    /// Reads all kernels of a folder, sorted by name.
    pub fn all(folder: &Path) -> Vec<Kernel> {
        let entries = std::fs::read_dir(folder).expect("the folder of kernels");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == "kernel"));
        files.sort();
        files.iter().map(|file| Kernel::read(file)).collect()
    }

    fn read(path: &Path) -> Kernel {
        let mut sources = Sources::new(Disk);
        let file = load(&mut sources, path).expect("a text");
        let forms = sexp::read(&sources, file).expect("a balanced text");
        let forms = forms.iter().map(symbolic::value);
        let declared = |form: &Sexp| ["input", "output", "size"].contains(&head(form));
        let (declarations, statements) = forms.partition(declared);
        let text = std::fs::read_to_string(path).expect("a text");
        let (tiled, unrolled) = instructions(text.lines().next().unwrap_or_default());
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Kernel { name, declarations, statements, tiled, unrolled }
    }

    /// Returns the correct variants and then the wrong ones.
    pub fn variants(&self) -> Vec<Variant> {
        let tile = |lengths: &[i64], fault| self.tile(&self.statements, lengths, fault);
        let unroll = |from: &[Sexp], factors: &[i64], fault| self.unroll(from, factors, fault);
        let own = &self.statements;
        let equal = [
            ("tile 8", tile(&[8], Fault::None)),
            ("tile 33", tile(&[33], Fault::None)),
            ("tile 16 then 8", tile(&[16, 8], Fault::None)),
            ("unroll 2", unroll(own, &[2], Fault::None)),
            ("unroll 8", unroll(own, &[8], Fault::None)),
            ("unroll 2 then 2", unroll(own, &[2, 2], Fault::None)),
            ("tile 8, unroll 2", unroll(&tile(&[8], Fault::None), &[2], Fault::None)),
        ];
        let wrong = [
            ("tile 8 without a clamp", tile(&[8], Fault::Unclamped)),
            ("tile 8 in strips of 7", tile(&[8], Fault::Short)),
            ("tile 8 with a lower bound", tile(&[8], Fault::Early)),
            ("unroll 2 without the remainder", unroll(own, &[2], Fault::NoRemainder)),
            ("unroll 2 with one index", unroll(own, &[2], Fault::SameIndex)),
        ];
        let equal = equal.into_iter().map(|(name, body)| self.variant(name, true, body));
        let wrong = wrong.into_iter().map(|(name, body)| self.variant(name, false, body));
        equal.chain(wrong).collect()
    }

    fn variant(&self, name: &str, equal: bool, body: Vec<Sexp>) -> Variant {
        let programs = [sequence(self.statements.clone()), sequence(body)];
        let forms = self.declarations.iter().chain(&programs);
        let lines: Vec<String> =
            forms.map(|form| symbolic::text(form).expect("words") + "\n").collect();
        Variant { name: name.to_owned(), equal, text: lines.concat() }
    }

    fn tile(&self, statements: &[Sexp], lengths: &[i64], fault: Fault) -> Vec<Sexp> {
        let mut statements = statements.to_vec();
        for (level, length) in lengths.iter().enumerate() {
            for nest in &self.tiled {
                // Only the first loop of a kernel is tiled wrongly.
                let fault = if *nest == self.tiled[0] { fault } else { Fault::None };
                let tiled = |s: &Sexp| tiled(s, nest, *length, level, fault);
                statements = statements.iter().map(tiled).collect();
            }
        }
        statements
    }

    fn unroll(&self, statements: &[Sexp], factors: &[i64], fault: Fault) -> Vec<Sexp> {
        let mut statements = statements.to_vec();
        for factor in factors {
            for name in &self.unrolled {
                statements =
                    statements.iter().flat_map(|s| unrolled(s, name, *factor, fault)).collect();
            }
        }
        statements
    }
}

/// Reads the first line of a kernel: the nests after `tile` and the loops after `unroll`.
fn instructions(line: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let (tile, unroll) = line.split_once("unroll").unwrap_or((line, ""));
    let lists = |text: &str| -> Vec<Vec<String>> {
        let lists = text.split('(').skip(1).filter_map(|list| list.split_once(')'));
        lists.map(|(list, _)| list.split_whitespace().map(str::to_owned).collect()).collect()
    };
    (lists(tile), lists(unroll).concat())
}

/// A loop: its variable, bounds and step, and its body.
struct Loop {
    variable: String,
    lo: Sexp,
    hi: Sexp,
    step: i64,
    body: Vec<Sexp>,
}

impl Loop {
    fn of(form: &Sexp) -> Option<Loop> {
        let Sexp::List(items) = form else { return None };
        let [_, variable, lo, hi, step, body @ ..] = items.as_slice() else { return None };
        let (variable, step) = (word(variable)?.to_owned(), word(step)?.parse().ok()?);
        let (lo, hi, body) = (lo.clone(), hi.clone(), body.to_vec());
        (head(form) == head(template("loop"))).then_some(Loop { variable, lo, hi, step, body })
    }

    fn form(self) -> Sexp {
        let Loop { variable, lo, hi, step, body } = self;
        let bounds =
            [("variable", atom(&variable)), ("lo", lo), ("hi", hi), ("step", number(step))];
        with(written("loop", &bounds), body)
    }
}

/// Tiles a nest of loops, given by the names of its variables, wherever it is in a statement. The loops over tiles get
/// the names of the loops with a number.
fn tiled(form: &Sexp, nest: &[String], length: i64, level: usize, fault: Fault) -> Sexp {
    let Sexp::List(items) = form else { return form.clone() };
    let first = Loop::of(form).is_some_and(|own| Some(&own.variable) == nest.first());
    if !first {
        let items = items.iter().map(|item| tiled(item, nest, length, level, fault));
        return Sexp::List(items.collect());
    }
    let (mut strips, mut within, mut body) = (Vec::new(), Vec::new(), vec![form.clone()]);
    for name in nest {
        let own = Loop::of(&body[0]).filter(|own| own.variable == *name).expect("a perfect nest");
        let strip = format!("{name}_{level}");
        let fault = if within.is_empty() { fault } else { Fault::None };
        let within_length = number(length - i64::from(fault == Fault::Short));
        let end = written("end", &[("start", atom(&strip)), ("length", within_length)]);
        let clamped = written("clamped", &[("end", end.clone()), ("hi", own.hi.clone())]);
        let early = written("early", &[("hi", own.hi.clone())]);
        strips.push(Loop {
            variable: strip.clone(),
            lo: own.lo,
            hi: if fault == Fault::Early { early } else { own.hi },
            step: length,
            body: Vec::new(),
        });
        within.push(Loop {
            variable: own.variable,
            lo: atom(&strip),
            hi: if fault == Fault::Unclamped { end } else { clamped },
            step: own.step,
            body: Vec::new(),
        });
        body = own.body;
    }
    let loops = strips.into_iter().chain(within).rev();
    loops.fold(body, |body, own| vec![Loop { body, ..own }.form()]).remove(0)
}

/// Unrolls the loop over a variable wherever it is in a statement: a loop over whole groups of iterations, and one over
/// the rest. A loop that has been unrolled has a step, and its rest is left alone.
fn unrolled(form: &Sexp, name: &str, factor: i64, fault: Fault) -> Vec<Sexp> {
    let Sexp::List(items) = form else { return vec![form.clone()] };
    let Some(own) = Loop::of(form).filter(|own| own.variable == name) else {
        let items = items.iter().flat_map(|item| unrolled(item, name, factor, fault));
        return vec![Sexp::List(items.collect())];
    };
    let step = own.step * factor;
    let zero = own.lo == number(0);
    let distance = match zero {
        true => own.hi.clone(),
        false => written("distance", &[("hi", own.hi.clone()), ("lo", own.lo.clone())]),
    };
    let whole = written("whole", &[("distance", distance), ("step", number(step))]);
    let middle = match zero {
        true => whole,
        false => written("middle", &[("lo", own.lo.clone()), ("whole", whole)]),
    };
    let index = |k: i64| match k {
        0 => atom(name),
        k => written("index", &[("variable", atom(name)), ("offset", number(k * own.step))]),
    };
    let chosen = |k: i64| if fault == Fault::SameIndex { 0 } else { k };
    let group = (0..factor).flat_map(|k| {
        own.body.iter().map(move |s| replaced(s, name, &index(chosen(k)))).collect::<Vec<_>>()
    });
    let main = Loop { body: group.collect(), hi: middle.clone(), step, ..own_parts(&own) };
    let rest = format!("{name}_{}", own.step * factor);
    let body = own.body.iter().map(|s| replaced(s, name, &atom(&rest))).collect();
    let remainder = Loop { variable: rest, lo: middle, body, ..own_parts(&own) };
    match fault {
        Fault::NoRemainder => vec![main.form()],
        _ => vec![main.form(), remainder.form()],
    }
}

/// Returns a loop without its body.
fn own_parts(own: &Loop) -> Loop {
    let Loop { variable, lo, hi, step, .. } = own;
    Loop {
        variable: variable.clone(),
        lo: lo.clone(),
        hi: hi.clone(),
        step: *step,
        body: Vec::new(),
    }
}

fn replaced(form: &Sexp, name: &str, by: &Sexp) -> Sexp {
    match form {
        Sexp::String(word) if word == name => by.clone(),
        Sexp::List(items) => {
            Sexp::List(items.iter().map(|item| replaced(item, name, by)).collect())
        }
        other => other.clone(),
    }
}

/// Returns statements as one.
fn sequence(mut statements: Vec<Sexp>) -> Sexp {
    match statements.len() {
        1 => statements.remove(0),
        _ => with(template("sequence").clone(), statements),
    }
}

fn head(form: &Sexp) -> &str {
    match form {
        Sexp::List(items) => items.first().and_then(word).unwrap_or_default(),
        _ => "",
    }
}

fn word(form: &Sexp) -> Option<&str> {
    match form {
        Sexp::String(word) => Some(word),
        _ => None,
    }
}

fn atom(word: &str) -> Sexp {
    Sexp::String(word.to_owned())
}

fn number(n: i64) -> Sexp {
    atom(&n.to_string())
}

/// Returns a list with further items.
fn with(form: Sexp, more: Vec<Sexp>) -> Sexp {
    match form {
        Sexp::List(items) => Sexp::List(items.into_iter().chain(more).collect()),
        other => other,
    }
}

/// Returns a form with expressions in the place of its words.
fn written(name: &str, parts: &[(&str, Sexp)]) -> Sexp {
    fn fill(form: &Sexp, parts: &[(&str, Sexp)]) -> Sexp {
        match form {
            Sexp::List(items) => Sexp::List(items.iter().map(|item| fill(item, parts)).collect()),
            word => {
                let part = parts.iter().find(|(name, _)| *word == atom(name));
                part.map_or(word, |(_, part)| part).clone()
            }
        }
    }
    fill(template(name), parts)
}

fn template(name: &str) -> &'static Sexp {
    let found = FORMS.iter().find_map(|form| match form {
        Sexp::List(items) if head(form) == name => items.get(1),
        _ => None,
    });
    found.expect("a form of this name")
}
