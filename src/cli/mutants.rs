//! `verify --mutants`: the counts of wrong variants of rules that verification refutes, as a table, and those that it
//! misses.

use ember_language::rules::RuleBook;
use ember_prove::soundness::Options;
use ember_prove::verify::{self, Chosen, Harmless, Judged, Kind, Solver, Tried};
use ember_tools::progress::Line;
use ember_tools::tables::{grouped, table};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Verifies the mutants of the wanted rules, with progress on the terminal.
pub(super) fn run(
    book: &RuleBook,
    wanted: impl Fn(&str) -> bool,
    options: &Options,
    chosen: Chosen,
    solver: Option<&dyn Solver>,
    listed: &[Harmless],
    line: &Line,
) -> Vec<Tried> {
    let count = AtomicUsize::new(0);
    let tried = verify::mutants(book, wanted, options, chosen, solver, listed, |all| {
        let done = count.fetch_add(1, Ordering::Relaxed) + 1;
        line.part(done, all, "mutants");
    });
    line.done();
    tried
}

/// Returns the table of counts by kind, and the mutants that were missed or are listed wrongly.
pub(super) fn text(tried: &[Tried]) -> String {
    let mut table = table(&[
        "change",
        "mutants",
        "refuted",
        "by the solver",
        "proved harmless",
        "listed",
        "never violated",
        "missed",
    ]);
    let count = |kind: Option<Kind>, judged: Option<Judged>| {
        let of_kind = |one: &&Tried| kind.is_none_or(|kind| one.kind == kind);
        let so = |one: &&Tried| judged.is_none_or(|judged| one.judged == judged);
        grouped(tried.iter().filter(of_kind).filter(so).count() as u64)
    };
    let judged = [
        None,
        Some(Judged::Refuted),
        Some(Judged::Disproved),
        Some(Judged::Proved),
        Some(Judged::Listed),
        Some(Judged::Unviolated),
        Some(Judged::Missed),
    ];
    for kind in Kind::ALL.into_iter().map(Some).chain([None]) {
        let name = kind.map_or_else(|| "all".to_owned(), |kind| kind.to_string());
        let counts = judged.map(|judged| count(kind, judged));
        table.add_row([name].into_iter().chain(counts));
    }
    let mut out = format!("{table}\n");
    for Tried { rule, kind, change, judged, wrong, violating, .. } in tried {
        match judged {
            Judged::Missed => {
                let cases = violating.map(|n| format!(", in {} cases", grouped(n as u64)));
                let cases = cases.unwrap_or_default();
                out += &format!("\nmissed: {rule}: {kind}: {change}{cases}");
            }
            Judged::Unviolated => out += &format!("\nnever violated: {rule}: {kind}: {change}"),
            _ => {}
        }
        if let Some(case) = wrong {
            out += &format!("\nsaid to be harmless, and wrong: {rule}: {kind}: {change}\n{case}");
        }
    }
    out.trim_end().to_owned() + "\n"
}

/// Returns 1 if a mutant was missed or never violated what it lacks, or is said to be harmless and is not.
pub(super) fn code(tried: &[Tried]) -> ExitCode {
    let passed = |one: &Tried| matches!(one.judged, Judged::Missed | Judged::Unviolated);
    let wrong = |one: &Tried| passed(one) || one.wrong.is_some();
    ExitCode::from(u8::from(tried.iter().any(wrong)))
}
