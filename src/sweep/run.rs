//! The points of a sweep on the cores of this machine.

use super::plan::Plan;
use super::row::Result;
use super::store::Store;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_tools::progress::Line;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// The stack of a thread that compiles: as much as a process's first thread has.
const STACK: usize = 8 << 20;

/// Computes and stores the points without a result, several at a time, until `stop` is set. Each point has threads of its
/// own, so that what is in memory is bounded by their number, not by that of points.
///
/// # Errors
///
/// Fails if the results cannot be stored. Those that were stay.
pub fn run(plan: &Plan, store: &mut Store, stop: &AtomicBool, line: &Line) -> Checked<()> {
    let missing = store.missing();
    let threads = rayon::current_num_threads();
    let workers = threads.min(missing.len()).max(1);
    let pools: Vec<rayon::ThreadPool> =
        (0..workers).map(|_| pool(threads / workers)).collect::<Checked<_>>()?;
    let (send, receive) = mpsc::channel();
    let next = AtomicUsize::new(0);
    let (next, missing) = (&next, missing.as_slice());
    thread::scope(|scope| {
        for pool in &pools {
            let send = send.clone();
            scope.spawn(move || {
                while let Some(point) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let done = pool.install(|| plan.task(*point).run(plan.reach()));
                    if send.send((*point, done)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        store_all(plan, store, receive, line)
    })
}

/// Stores results as they come. When one cannot be stored, the receiver ends, and with it those who send.
fn store_all(
    plan: &Plan,
    store: &mut Store,
    results: mpsc::Receiver<(usize, Checked<Result>)>,
    line: &Line,
) -> Checked<()> {
    let mut done = plan.points() - store.missing().len();
    let say = |done: usize| line.part(done, plan.points(), "points");
    say(done);
    for (point, result) in results {
        store.put(plan, point, result?)?;
        done += 1;
        say(done);
    }
    Ok(())
}

/// Starts threads for one point at a time.
pub(super) fn pool(threads: usize) -> Checked<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).stack_size(STACK);
    pool.build().map_err(|error| vec![Diagnostic::global(format!("cannot start threads: {error}"))])
}
