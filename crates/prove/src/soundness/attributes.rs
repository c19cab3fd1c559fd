//! Tests attributes as claims: compares the declarations of an operator with its behaviour, on random instances and
//! stores. A claim that cannot be tested never passes.

mod claim;
mod demand;
mod subject;

use super::{Options, fnv};
use crate::random::Grammar;
use claim::Found;
use ember_host::threads;
use ember_language::rules::{Kind, OpInfo, Operator, RuleBook};
use ember_values::primitive::{Price, Typing, Width};
use ember_values::scalar::DType;
use fastrand::Rng;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use subject::{NoMeaning, Subject, subjects};

/// The number of cases made for every operator, and the largest number of instances tried to obtain them.
const CASES: usize = 60;
const INSTANCES: usize = 2000;

/// A claim about an operator, with the result of its test.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Claim {
    /// The operator.
    pub operator: &'static str,
    /// The number of its operands.
    pub operands: usize,
    /// The attribute that makes the claim.
    pub attribute: &'static str,
    /// The claim as text.
    pub claim: String,
    /// The result of the test.
    #[serde(flatten)]
    pub answer: Answer,
}

/// The result of testing a claim.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Answer {
    /// No counterexample was found.
    Holds {
        /// The number of cases in which it was compared with the operator's behaviour.
        cases: usize,
    },
    /// The claim is wrong.
    Refuted {
        /// A case in which it is wrong.
        case: String,
    },
    /// The claim could not be tested.
    NotTested {
        /// The reason.
        reason: String,
    },
}

impl Claim {
    /// Returns true if the claim is wrong.
    pub fn is_refuted(&self) -> bool {
        matches!(self.answer, Answer::Refuted { .. })
    }
}

/// The content of a claim.
#[derive(Clone, Debug)]
enum What {
    Type(Typing<usize>),
    Lanes(Width<usize>),
    Reads(Vec<usize>),
    Writes(Vec<usize>),
    Loop,
    Binds(usize, usize),
    Lanewise,
    /// Another operator does the same with these of its operands: the attribute, the operator, and the positions.
    Same(&'static str, &'static str, Vec<usize>),
    Boundary,
    Commutes,
    Rank(usize),
    /// A demand on the operand at a position, as a word.
    Asks(usize, &'static str),
    Cost(Price),
}

impl What {
    fn attribute(&self) -> &'static str {
        match self {
            What::Type(_) => ":type",
            What::Lanes(_) => ":lanes",
            What::Reads(_) => ":reads",
            What::Writes(_) => ":writes",
            What::Loop => ":means",
            What::Binds(..) => ":binds",
            What::Lanewise => ":lanewise",
            What::Same(attribute, ..) => attribute,
            What::Boundary => ":boundary",
            What::Commutes => ":commutes",
            What::Rank(_) => ":rank",
            What::Asks(..) => ":asks",
            What::Cost(_) => ":cost",
        }
    }

    fn text(&self, info: &OpInfo) -> String {
        let name = |at: usize| match info.operands.get(at).copied().flatten() {
            Some(name) => name.to_string(),
            None => at.to_string(),
        };
        let list = |ats: &[usize]| match ats {
            [] => "nothing".to_owned(),
            _ => ats.iter().map(|at| name(*at)).collect::<Vec<_>>().join(" "),
        };
        match self {
            What::Type(Typing::I64) => DType::I64.to_string(),
            What::Type(Typing::Of(at)) | What::Lanes(Width::Of(at)) => name(*at),
            What::Type(Typing::Named(at)) => format!("(named {})", name(*at)),
            What::Lanes(Width::One) => "1".to_owned(),
            What::Lanes(Width::Count(at)) => format!("(count {})", name(*at)),
            What::Reads(ats) | What::Writes(ats) => list(ats),
            What::Loop => info.row.map_or("", |row| row.name).to_owned(),
            What::Binds(variable, body) => format!("{} in {}", name(*variable), name(*body)),
            What::Same(_, other, _) => (*other).to_owned(),
            What::Rank(rank) => rank.to_string(),
            What::Asks(at, word) => format!("{} {word}", name(*at)),
            What::Cost(price) => price.word().to_owned(),
            What::Lanewise | What::Boundary | What::Commutes => String::new(),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Holds { cases: 1 } => f.write_str("1 case"),
            Answer::Holds { cases } => write!(f, "{cases} cases"),
            Answer::Refuted { .. } => f.write_str("WRONG"),
            Answer::NotTested { reason } => write!(f, "not tested: {reason}"),
        }
    }
}

/// Tests the claims about the selected operators, in the order of their declarations.
pub fn check_attributes(
    book: &RuleBook,
    wanted: impl Fn(&str) -> bool,
    options: &Options,
) -> Vec<Claim> {
    let grammar = Grammar::new(&book.signature);
    let operators = book.signature.operators().iter().filter(|op| wanted(op.name.as_str()));
    let operators: Vec<&Operator> = operators.collect();
    let claims = |operator: &&Operator| of_operator(book, &grammar, operator, options);
    threads::map(&operators, claims).into_iter().flatten().collect()
}

fn of_operator(
    book: &RuleBook,
    grammar: &Grammar,
    operator: &Operator,
    options: &Options,
) -> Vec<Claim> {
    let Some(info) = grammar.operators().get(operator.name, operator.args.len()) else {
        return Vec::new();
    };
    let claims = claims(book, operator, info);
    if claims.is_empty() {
        return Vec::new();
    }
    let mut rng = Rng::with_seed(options.seed ^ fnv(operator.name.as_str()));
    let subjects = subjects(book, grammar, operator, &mut rng);
    let claim = |what: What| Claim {
        operator: operator.name.as_str(),
        operands: operator.args.len(),
        attribute: what.attribute(),
        claim: what.text(info),
        answer: answer(&subjects, info, &what),
    };
    claims.into_iter().map(claim).collect()
}

/// Returns the claims about an operator.
fn claims(book: &RuleBook, operator: &Operator, info: &OpInfo) -> Vec<What> {
    // Labels and variables are only names, which claim nothing.
    let value = info.kind.is_none_or(|kind| kind.is_evaluated());
    let mut claims = Vec::new();
    if !value {
        return claims;
    }
    let own =
        |word: &str| info.operands.iter().position(|name| name.is_some_and(|n| n.as_str() == word));
    let table = book.signature.table();
    claims.extend(info.typing.filter(|_| info.kind != Some(Kind::Address)).map(What::Type));
    claims.extend(info.width.map(What::Lanes));
    if let Some(touches) = &info.touches {
        claims.push(What::Reads(touches.reads.clone()));
        claims.push(What::Writes(touches.writes.clone()));
    }
    claims.extend(info.looped().map(|_| What::Loop));
    claims.extend(info.binds.map(|(variable, body)| What::Binds(variable, body)));
    claims.extend(info.lanewise.then_some(What::Lanewise));
    let erased = info.erased.filter(|erased| *erased != info.name);
    let arities = 0..=operator.args.len();
    let target = erased.and_then(|name| arities.clone().rev().find_map(|n| table.get(name, n)));
    if let Some(target) = target {
        let places = target.operands.iter().map(|name| own(name.as_ref()?.as_str()));
        claims.extend(
            places
                .collect::<Option<Vec<usize>>>()
                .map(|places| What::Same(":erases", target.name.as_str(), places)),
        );
    }
    for other in book.signature.counterparts(info.name, operator.args.len()) {
        let places = (0..operator.args.len()).collect();
        claims.push(What::Same(":counterpart", other.as_str(), places));
    }
    claims.extend(info.boundary.then_some(What::Boundary));
    claims.extend(subject::commutes(book, operator).then_some(What::Commutes));
    claims.extend(info.rank.map(What::Rank));
    claims.extend(demands(info));
    claims.extend(operator.price().map(What::Cost));
    claims
}

/// Returns the demands of an operator on its operands, except on literals and names, which no run evaluates.
fn demands(info: &OpInfo) -> impl Iterator<Item = What> {
    let asks = info.asks.iter().enumerate().filter(|(at, _)| {
        let evaluated = |kind: Kind| kind.is_evaluated() || kind == Kind::Operation;
        !info.literals.contains(at) && info.operand_kinds[*at].is_none_or(evaluated)
    });
    asks.flat_map(|(at, ask)| ask.words().map(move |word| What::Asks(at, word)))
}

/// Compares a cost class with that of the primitive which the operator is, unless no program contains the operator.
fn priced(info: &OpInfo, price: Price) -> Answer {
    match info.row.filter(|_| price != Price::Folded) {
        None => Answer::NotTested {
            reason: "a price, which the estimates take as it is said, and no claim".to_owned(),
        },
        Some(row) if row.price == price => Answer::Holds { cases: 1 },
        Some(row) => Answer::Refuted {
            case: format!(
                "claimed:    {}\nfound:      `{}`, which it is, costs {}\n",
                price.word(),
                row.name,
                row.price.word()
            ),
        },
    }
}

/// Tests a claim on all cases. A claim that is wrong in several is refuted by the shortest.
fn answer(subjects: &Result<Vec<Subject>, NoMeaning>, info: &OpInfo, what: &What) -> Answer {
    if let What::Cost(price) = what {
        return priced(info, *price);
    }
    let subjects = match subjects {
        Ok(subjects) => subjects,
        Err(why) => return Answer::NotTested { reason: why.to_string() },
    };
    let mut cases = 0;
    let mut why = "no case of it shows any";
    let (mut wrong, mut against) = (Vec::new(), Vec::new());
    for subject in subjects {
        match subject.test(info, what) {
            Found::Agrees => cases += 1,
            Found::Nothing(reason) => why = reason,
            Found::Wrong(found) => wrong.push(subject.case(&found)),
            Found::Against(found) => against.push(subject.case(&found)),
        }
    }
    if wrong.is_empty() && cases == 0 {
        wrong = against;
    }
    match (wrong.into_iter().min_by_key(String::len), cases) {
        (Some(case), _) => Answer::Refuted { case },
        (None, 0) => Answer::NotTested { reason: why.to_owned() },
        (None, cases) => Answer::Holds { cases },
    }
}
