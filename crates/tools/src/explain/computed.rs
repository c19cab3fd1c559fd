//! Terms with the arithmetic of a chain done: every copy of a term has its number, extent or type at once, as in
//! readable programs. A chain computes copy by copy, in the order of positions.

use egg::Id;
use ember_language::rebuild::rebuild;
use ember_language::term::{Term, Terms};
use ember_prove::chains::{By, Chain, tree_size};
use rustc_hash::FxHashMap;

/// The number of passes over the equalities, whose terms other equalities may change.
const PASSES: usize = 8;

/// Computed equalities, from longer terms to shorter ones.
#[derive(Default)]
pub(super) struct Computed {
    terms: Terms,
    shorter: FxHashMap<Id, Id>,
}

impl Computed {
    /// Collects the equalities of a chain.
    pub fn of(chain: &Chain) -> Computed {
        let mut computed = Computed::default();
        let steps = chain.steps.iter().filter(|step| step.by == By::Computed);
        let pairs: Vec<(&Term, &Term)> = steps
            .map(|step| (&step.before, &step.after))
            .filter_map(|(a, b)| match tree_size(a).cmp(&tree_size(b)) {
                std::cmp::Ordering::Greater => Some((a, b)),
                std::cmp::Ordering::Less => Some((b, a)),
                std::cmp::Ordering::Equal => None,
            })
            .collect();
        for _ in 0..PASSES {
            let before = computed.shorter.len();
            for (long, short) in &pairs {
                let (long, short) = (computed.put(long), computed.put(short));
                if long != short {
                    computed.shorter.insert(long, short);
                }
            }
            if computed.shorter.len() == before {
                break;
            }
        }
        computed
    }

    /// Returns a term with its arithmetic done.
    pub fn done(&mut self, term: &Term) -> Term {
        let root = self.put(term);
        self.terms.part(root)
    }

    fn put(&mut self, term: &Term) -> Id {
        rebuild(term.as_ref(), |_, node| {
            let mut id = self.terms.add(node);
            // Each term was shorter than the one before when it was found; bounds may change with names, so the passes
            // are limited.
            for _ in 0..PASSES {
                let Some(next) = self.shorter.get(&id) else { break };
                id = *next;
            }
            id
        })
    }
}
