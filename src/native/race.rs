//! Programs of one model with other settings, each in turn with the program of the defaults.

use super::batches::Batches;
use super::{Ready, failed, measure, prepare, turns};
use crate::job::reason;
use ember_compile::pipeline::{Case, Inputs, Options};
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_native::{Buffers, Compiler};
use std::cell::RefCell;

/// The program of the defaults, and the data that all run on.
pub(crate) struct Race {
    compiler: Compiler,
    case: Case,
    default: Ready,
    /// The memory of the tensors, which the programs of a model share.
    batches: RefCell<Batches>,
}

impl Race {
    /// Makes the data, and compiles the program of the defaults.
    pub fn new(inputs: &Inputs, options: &Options) -> Checked<Race> {
        let global = |message: String| vec![Diagnostic::global(message)];
        let case = Case::new(&inputs.model, options.seed, options.exact)?;
        let compiler = Compiler::find().map_err(failed)?;
        let default = prepare(inputs, options, &compiler, &options.schedule)?;
        let data = case.bindings(&default.program).map_err(|error| global(error.to_string()))?;
        let buffers = Buffers::new(&default.program, &data.tensors, &data.sizes)
            .map_err(|error| global(error.to_string()))?;
        let data = (case.instance.seed, &data.tensors[..], buffers);
        let batches = RefCell::new(Batches::new(inputs, &default.program, data)?);
        Ok(Race { compiler, case, default, batches })
    }

    /// Returns the median time of a program as a share of that of the defaults, or the reason why it has none.
    pub fn relative(&self, inputs: &Inputs, options: &Options) -> Result<f64, String> {
        let program = prepare(inputs, options, &self.compiler, &options.schedule);
        let program = program.map_err(|errors| errors.first().map_or("", reason).to_owned())?;
        let mut batches = self.batches.borrow_mut();
        let buffers = batches.first();
        program.library.call(buffers).map_err(|refused| refused.to_string())?;
        let compared = self.case.compare(&program.program, &buffers.tensors(), options.exact);
        if let Err(mismatch) = compared
            && mismatch.is_wrong()
        {
            return Err(mismatch.to_string());
        }
        let libraries = [&self.default.library, &program.library];
        let times = turns(&libraries, &mut batches, measure::clock(options.threads));
        let [default, own] = [0, 1].map(|at: usize| times[at].quantile(0.5));
        // Further digits are noise.
        Ok((own / default.max(f64::MIN_POSITIVE) * 1e4).round() / 1e4)
    }
}
