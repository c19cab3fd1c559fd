//! The data that measured programs run on in turn: as a service has it, each batch looks up other rows of the same tables.
//!
//! A batch that runs again and again would find its rows in the caches, which favours other programs.

use ember_compile::pipeline::Inputs;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_native::Buffers;
use ember_targets::dlc::Program;
use ember_targets::tensor::{Data, Tensor};

/// The most batches.
const MOST: u64 = 16;

/// The most bytes of all batches, beside the tables that they share. Data that takes as much is random enough.
const MOST_BYTES: u64 = 1 << 26;

/// Batches of one model.
pub(super) struct Batches(Vec<Buffers>);

impl Batches {
    /// Makes batches of further seeds for a program on some data, which is the first one. Numbers that are computed on demand
    /// are those of the first batch: tables.
    pub fn new(
        inputs: &Inputs,
        program: &Program,
        (seed, tensors, first): (u64, &[Tensor], Buffers),
    ) -> Checked<Batches> {
        let own = |tensor: &&Tensor| !is_table(tensor);
        let bytes = tensors.iter().filter(own).map(|tensor| tensor.dtype.bytes_of(tensor.len()));
        let batches = (MOST_BYTES / bytes.sum::<u64>().max(1)).clamp(1, MOST);
        let further = (1..batches).map(|batch| {
            let instance = inputs.model.instantiate(Some(seed.wrapping_add(batch)))?;
            let (tensors, sizes) = instance.bind(program)?;
            let kept = |tensor: &Tensor| is_table(tensor).then_some(&first);
            Buffers::sharing(program, &tensors, &sizes, kept)
                .map_err(|error| vec![Diagnostic::global(error.to_string())])
        });
        let further = further.collect::<Checked<Vec<Buffers>>>()?;
        Ok(Batches(std::iter::once(first).chain(further).collect()))
    }

    /// Returns the first batch.
    pub fn first(&mut self) -> &mut Buffers {
        &mut self.0[0]
    }

    /// Returns the batches.
    pub fn each(&mut self) -> impl Iterator<Item = &mut Buffers> {
        self.0.iter_mut()
    }

    /// Returns the batch of one of several programs in a round.
    pub fn of(&mut self, round: usize, program: (usize, usize)) -> &mut Buffers {
        let batches = self.0.len();
        &mut self.0[turn(round, program, batches)]
    }
}

/// Returns the number of the batch of one of several programs in a round. Each program has all batches in its turns, and none is
/// the same in two turns one after the other, if there are enough.
fn turn(round: usize, (at, programs): (usize, usize), batches: usize) -> usize {
    let apart = (batches / programs.max(1)).max(1);
    (round + at * apart) % batches
}

/// Returns true if the elements of a tensor are computed on demand.
fn is_table(tensor: &Tensor) -> bool {
    matches!(tensor.data, Data::Hashed(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use itertools::{Itertools, iproduct};

    #[test]
    fn programs_have_all_batches_and_never_one_twice_in_a_row() {
        for (programs, batches) in iproduct!(1..=4, [8, 13, 16]) {
            let turns = iproduct!(0..2 * batches, 0..programs)
                .map(|(round, at)| (at, turn(round, (at, programs), batches)))
                .collect_vec();
            assert!(turns.iter().tuple_windows().all(|((_, a), (_, b))| a != b));
            for at in 0..programs {
                let own = turns.iter().filter(|(own, _)| *own == at).map(|(_, batch)| *batch);
                assert_eq!(own.unique().count(), batches, "{at} of {programs}");
            }
        }
    }
}
