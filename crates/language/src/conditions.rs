//! The closed lists of predicates for a rule's `:when` and of generators for its `:for`: names, arguments and
//! descriptions. An analysis evaluates them.

/// A predicate on classes, or a generator: a source of constants that follow from classes and the machine.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The name in rule files, which no other predicate or generator has.
    pub name: &'static str,
    /// Its meaning, in words.
    pub doc: &'static str,
    /// The sorts of its arguments. A name that starts with `'` is any sort; [`VARIABLE`] is the sort of variables.
    pub sorts: &'static [&'static str],
}

impl Condition {
    /// Returns true if a rule may depend on it to be right.
    pub fn is_claim(&self) -> bool {
        !GUIDES.contains(&self.name)
    }

    /// Its place in [`PREDICATES`] or [`GENERATORS`].
    pub fn index(&self) -> usize {
        let place = |all: &&[Condition]| all.iter().position(|known| known.name == self.name);
        [PREDICATES, GENERATORS].iter().find_map(place).unwrap_or(usize::MAX)
    }
}

/// The sort of variables in lists of argument sorts; operators of the dialects bind them.
pub const VARIABLE: &str = "Var";

/// The sort of the names of parameters in lists of argument sorts. In their place, a call has the numbers that a
/// parameter is set to.
pub const PARAMETER: &str = "Parameter";

/// The predicates that only decide whether a rule is worth trying: no rule may depend on them to be right.
pub const GUIDES: [&str; 8] = [
    "at-setting",
    "distinct",
    "lane-count",
    "loop-free",
    "may-be-free",
    "unbound",
    "unit-stride",
    "untiled",
];

/// Every predicate, by name.
pub const PREDICATES: &[Condition] = &[
    Condition {
        name: "at-most",
        doc: "the greatest value of the first is not above the least of the second",
        sorts: &["Value", "Value"],
    },
    Condition {
        name: "at-most-in-loop",
        doc: "the first is at most the second, as loop variables are below where their loops end and neither \
              overflows",
        sorts: &["Value", "Value"],
    },
    Condition {
        name: "at-setting",
        doc: "the first is what the parameter is set to, or nobody sets it",
        sorts: &["Value", "Parameter"],
    },
    Condition {
        name: "below",
        doc: "the greatest value of the first is below the least of the second",
        sorts: &["Value", "Value"],
    },
    Condition {
        name: "below-in-loop",
        doc: "the first is less than the second, as loop variables are below where their loops end and neither \
              overflows",
        sorts: &["Value", "Value"],
    },
    Condition {
        name: "bounded",
        doc: "an integer between -2^50 and 2^50, so that small sums and differences of such do not overflow",
        sorts: &["Value"],
    },
    Condition {
        name: "bounded-product",
        doc: "two integers whose product does not overflow: it is at most 2^62 from 0, or the number of elements of a \
              tensor",
        sorts: &["Value", "Value"],
    },
    Condition {
        name: "constant",
        doc: "the same value in every environment: a number, or arithmetic on sizes of the model",
        sorts: &["Value"],
    },
    Condition {
        name: "different",
        doc: "two variables that are not the same",
        sorts: &["Var", "Var"],
    },
    Condition {
        name: "distinct",
        doc: "two values that are not known to be the same",
        sorts: &["Value", "Value"],
    },
    Condition {
        name: "divides",
        doc: "both are constants and the first divides the second",
        sorts: &["Value", "Value"],
    },
    Condition { name: "float", doc: "a value of a floating-point type", sorts: &["Value"] },
    Condition {
        name: "in-scope",
        doc: "the first depends only on loop variables that the second depends on, too",
        sorts: &["Value", "'a"],
    },
    Condition {
        name: "independent",
        doc: "two statements or values in either order do the same: neither writes what the other touches",
        sorts: &["'a", "'b"],
    },
    Condition {
        name: "independent-lanes",
        doc: "no iteration of the loop over the variable writes what the second or third touches in another",
        sorts: &["Var", "'a", "'b"],
    },
    Condition { name: "index", doc: "a scalar i64", sorts: &["Value"] },
    Condition {
        name: "interchangeable",
        doc: "the order of iterations that touch one place, which one of them writes, stays as it is where the \
              loops over both variables change places around the third",
        sorts: &["Var", "Var", "'a"],
    },
    Condition {
        name: "lane-count",
        doc: "a number that some run of lanes is known to have",
        sorts: &["Value"],
    },
    Condition {
        name: "loop-free",
        doc: "some form of the term has no loop; what is not lowered yet may have one",
        sorts: &["'a"],
    },
    Condition {
        name: "may-be-free",
        doc: "the second depends on the variable, as far as is known; later it may turn out not to",
        sorts: &["Var", "'a"],
    },
    Condition {
        name: "may-run",
        doc: "no loop over a variable of the term is known never to run, as such a variable has no value",
        sorts: &["'a"],
    },
    Condition {
        name: "not-free",
        doc: "the second does not depend on the variable, nor do the bounds of the variables that it mentions",
        sorts: &["Var", "'a"],
    },
    Condition {
        name: "only-writes",
        doc: "evaluating the second writes the tensor of the address and no other",
        sorts: &["Address", "'a"],
    },
    Condition {
        name: "own-lane",
        doc: "writing the address in one iteration of the loop over the variable touches nothing that \
              another writes there or reads in evaluating the value",
        sorts: &["Var", "Address", "Value"],
    },
    Condition {
        name: "rank",
        doc: "the address lacks as many indices as the second, a number, says",
        sorts: &["Address", "Value"],
    },
    Condition {
        name: "read-only",
        doc: "the address is of a tensor that nothing writes before the next barrier",
        sorts: &["Address"],
    },
    Condition {
        name: "reads-only-in",
        doc: "a value that reads only tensors that the program never writes",
        sorts: &["'a"],
    },
    Condition {
        name: "rising",
        doc: "the address is of a whole input of offsets, which start at 0 and never fall",
        sorts: &["Address"],
    },
    Condition {
        name: "runs",
        doc: "the variable of a loop that runs at least once, whatever the data",
        sorts: &["Var"],
    },
    Condition {
        name: "runs-once",
        doc: "the variable of a loop that runs exactly once, whatever the data",
        sorts: &["Var"],
    },
    Condition { name: "scalar", doc: "a value of one lane", sorts: &["Value"] },
    Condition {
        name: "separable",
        doc: "no iteration of the loop over the variable touches, in the second, what an earlier one touches in \
              the third, if one of them writes",
        sorts: &["Var", "'a", "'b"],
    },
    Condition {
        name: "speculable",
        doc: "evaluating the second outside of the loop over the variable cannot fault where the loop \
              does not: it loads nothing and folds no lanes, or the loop runs at least once",
        sorts: &["Var", "Value"],
    },
    Condition {
        name: "total",
        doc: "evaluating the value never faults: it folds no lanes, and loads only elements that are there for all \
              sizes",
        sorts: &["Value"],
    },
    Condition {
        name: "unbound",
        doc: "no loop of the second, in any form of it so far, is over the variable",
        sorts: &["Var", "'a"],
    },
    Condition {
        name: "undisturbed",
        doc: "evaluating the second writes nothing that the first touches",
        sorts: &["'a", "'b"],
    },
    Condition {
        name: "unit-stride",
        doc: "every place that the statement writes moves with the variable by one element of its \
              tensor's last dimension, and as far as is known in no other",
        sorts: &["Var", "Stmt"],
    },
    Condition {
        name: "unread",
        doc: "evaluating the second does not read the tensor of the address",
        sorts: &["Address", "'a"],
    },
    Condition {
        name: "untiled",
        doc: "the loop variable is not that of a block loop or of a loop within a block",
        sorts: &["Var"],
    },
    Condition {
        name: "unwritten",
        doc: "evaluating the second does not write the tensor of the address",
        sorts: &["Address", "'a"],
    },
    Condition {
        name: "writable",
        doc: "the address is of a tensor that the program writes",
        sorts: &["Address"],
    },
];

/// Every generator, by name.
pub const GENERATORS: &[Condition] = &[
    Condition {
        name: "even-simd-lanes",
        doc: "the lanes of one vector register, for the element type of the third, where the bounds are \
              constants that these lanes divide",
        sorts: &["Value", "Value", "Value"],
    },
    Condition {
        name: "even-wide-lanes",
        doc: "those of the `wide-lanes` of the second that divide both bounds, which are constants",
        sorts: &["Value", "Value", "Value"],
    },
    Condition {
        name: "few-trips",
        doc: "how often a loop with these bounds and this step runs, where that is the same always and \
              from 2 to 8",
        sorts: &["Value", "Value", "Value"],
    },
    Condition {
        name: "half-way",
        doc: "how far a loop with these bounds and this step has come after half of its iterations, where their \
              number is the same always and from 2 to 64",
        sorts: &["Value", "Value", "Value"],
    },
    Condition { name: "length", doc: "a constant from 2 to 4096", sorts: &["Value"] },
    Condition {
        name: "one-trip",
        doc: "1 where a loop with these bounds and this step runs once, whatever the data",
        sorts: &["Value", "Value", "Value"],
    },
    Condition {
        name: "setting",
        doc: "what the parameter is set to; each of its values if nobody sets it and it has no default",
        sorts: &["Parameter"],
    },
    Condition {
        name: "simd-lanes",
        doc: "the lanes of one vector register, for the element type that a statement writes or a value \
              has",
        sorts: &["'a"],
    },
    Condition {
        name: "tile-lengths",
        doc: "the bound, a constant, halved again and again, as long as a half is a multiple of two \
              vector registers' lanes",
        sorts: &["Value", "Stmt"],
    },
    Condition {
        name: "wide-lanes",
        doc: "multiples of a vector register's lanes, doubling, up to a bound that is a constant and to \
              the lanes that half the registers hold",
        sorts: &["Value", "'a"],
    },
];
