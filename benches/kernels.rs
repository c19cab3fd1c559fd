//! Measures `equiv` on textbook kernels and their tiled and unrolled variants, correct and wrong: the share that is
//! decided, and decided rightly, within 20 s each. `cargo bench --bench kernels -- WORD …` runs only those variants
//! whose kernel or name contains one of the words.

#[path = "../tests/kernels/variants.rs"]
mod variants;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use variants::Kernel;

/// The time after which an answer counts as none.
const LIMIT: Duration = Duration::from_secs(20);

/// The answer of `equiv`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Equal,
    Different,
    Unknown,
    TimedOut,
}

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    std::fs::create_dir_all(&folder).expect("a folder");
    let (mut all, mut decided, mut right) = (0, 0, 0);
    for kernel in Kernel::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")) {
        for variant in kernel.variants() {
            let title = format!("{}: {}", kernel.name, variant.name);
            if !words.is_empty() && !words.iter().any(|word| title.contains(word.as_str())) {
                continue;
            }
            let file = folder.join(title.replace([':', ','], "").replace(' ', "_") + ".pair");
            std::fs::write(&file, &variant.text).expect("a file");
            let (answer, time) = decision(&file);
            let expected = if variant.equal { Decision::Equal } else { Decision::Different };
            all += 1;
            decided += usize::from(matches!(answer, Decision::Equal | Decision::Different));
            right += usize::from(answer == expected);
            let told = match answer {
                Decision::Equal => "equal",
                Decision::Different => "different",
                Decision::Unknown => "unknown",
                Decision::TimedOut => "out of time",
            };
            let wrong =
                matches!(answer, Decision::Equal | Decision::Different) && answer != expected;
            let mark = if wrong { ", WRONG" } else { "" };
            println!("{title}: {told}{mark} ({:.2} s)", time.as_secs_f64());
        }
    }
    println!("decided: {decided} of {all} (at least 90 %); right: {right} (all that are decided)");
}

/// Runs the command on a pair, for at most the limit.
fn decision(pair: &Path) -> (Decision, Duration) {
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"));
    let command = command.arg("equiv").arg(pair).stdout(Stdio::null());
    let mut running = command.spawn().expect("the command runs");
    loop {
        if let Some(status) = running.try_wait().expect("it was started") {
            let decision = match status.code() {
                Some(0) => Decision::Equal,
                Some(1) => Decision::Different,
                Some(3) => Decision::Unknown,
                code => panic!("{}: exit code {code:?}", pair.display()),
            };
            return (decision, start.elapsed());
        }
        if start.elapsed() > LIMIT {
            running.kill().expect("it runs");
            running.wait().expect("it was killed");
            return (Decision::TimedOut, LIMIT);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
