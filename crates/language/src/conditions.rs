//! The closed list of predicates that a rule's `:when` may ask, and of generators for its `:for`: their
//! names, their arguments, and what they ask, in words. Their answers are an analysis' matter.

/// A question about classes.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// The name in rule files.
    pub name: &'static str,
    /// What it asks.
    pub doc: &'static str,
    /// The sorts of its arguments; those that start with `'` are any sort, and [`VARIABLE`] is that of
    /// variables.
    pub sorts: &'static [&'static str],
}

/// A source of constants that follow from classes and the machine.
#[derive(Clone, Debug)]
pub struct Generator {
    /// The name in rule files.
    pub name: &'static str,
    /// What it gives.
    pub doc: &'static str,
    /// The sorts of its arguments.
    pub sorts: &'static [&'static str],
}

impl Predicate {
    /// Its place in [`PREDICATES`].
    pub fn index(&self) -> usize {
        PREDICATES.iter().position(|known| known.name == self.name).unwrap_or(PREDICATES.len())
    }
}

impl Generator {
    /// Its place in [`GENERATORS`].
    pub fn index(&self) -> usize {
        GENERATORS.iter().position(|known| known.name == self.name).unwrap_or(GENERATORS.len())
    }
}

/// In the sorts of arguments: the sort of variables, which operators of the dialects bind.
pub const VARIABLE: &str = "Var";

/// Every predicate, by name.
pub const PREDICATES: &[Predicate] = &[
    Predicate {
        name: "at-most",
        doc: "the greatest value of the first is not above the least of the second",
        sorts: &["Value", "Value"],
    },
    Predicate {
        name: "below",
        doc: "the greatest value of the first is below the least of the second",
        sorts: &["Value", "Value"],
    },
    Predicate {
        name: "bounded",
        doc: "an integer between -2^50 and 2^50, so that small sums and differences of such do not overflow",
        sorts: &["Value"],
    },
    Predicate {
        name: "constant",
        doc: "the same value in every environment: a number, or arithmetic on sizes of the model",
        sorts: &["Value"],
    },
    Predicate {
        name: "different",
        doc: "two variables that are not the same",
        sorts: &["Var", "Var"],
    },
    Predicate {
        name: "distinct",
        doc: "two values that are not known to be the same",
        sorts: &["Value", "Value"],
    },
    Predicate {
        name: "divides",
        doc: "both are constants and the first divides the second",
        sorts: &["Value", "Value"],
    },
    Predicate { name: "float", doc: "a value of a floating-point type", sorts: &["Value"] },
    Predicate {
        name: "independent",
        doc: "two statements or values in either order do the same: neither writes what the other touches",
        sorts: &["'a", "'b"],
    },
    Predicate {
        name: "independent-lanes",
        doc: "no iteration of the loop over the variable writes what the second or third touches in another",
        sorts: &["Var", "'a", "'b"],
    },
    Predicate { name: "index", doc: "a scalar i64", sorts: &["Value"] },
    Predicate {
        name: "lane-count",
        doc: "a number that some run of lanes is known to have",
        sorts: &["Value"],
    },
    Predicate {
        name: "loop-free",
        doc: "some form of the term has no loop; what is not lowered yet may have one",
        sorts: &["'a"],
    },
    Predicate {
        name: "may-be-free",
        doc: "the second depends on the variable, as far as is known; later it may turn out not to",
        sorts: &["Var", "'a"],
    },
    Predicate {
        name: "not-free",
        doc: "the second does not depend on the variable",
        sorts: &["Var", "'a"],
    },
    Predicate {
        name: "only-writes",
        doc: "evaluating the second writes the tensor of the address and no other",
        sorts: &["Address", "'a"],
    },
    Predicate {
        name: "own-lane",
        doc: "writing the address in one iteration of the loop over the variable touches nothing that \
              another writes there or reads in evaluating the value",
        sorts: &["Var", "Address", "Value"],
    },
    Predicate {
        name: "rank",
        doc: "the address lacks as many indices as the second, a number, says",
        sorts: &["Address", "Value"],
    },
    Predicate {
        name: "read-only",
        doc: "the address is of a tensor that nothing writes before the next barrier",
        sorts: &["Address"],
    },
    Predicate {
        name: "reads-only-in",
        doc: "a value that reads no tensor that something writes before the next barrier",
        sorts: &["'a"],
    },
    Predicate {
        name: "runs",
        doc: "the variable of a loop that runs at least once, whatever the data",
        sorts: &["Var"],
    },
    Predicate {
        name: "runs-once",
        doc: "the variable of a loop that runs exactly once, whatever the data",
        sorts: &["Var"],
    },
    Predicate { name: "scalar", doc: "a value of one lane", sorts: &["Value"] },
    Predicate {
        name: "speculable",
        doc: "evaluating the second outside of the loop over the variable cannot fault where the loop \
              does not: it loads nothing, or the loop runs at least once",
        sorts: &["Var", "Value"],
    },
    Predicate {
        name: "undisturbed",
        doc: "evaluating the second writes nothing that the first touches",
        sorts: &["'a", "'b"],
    },
    Predicate {
        name: "unit-stride",
        doc: "every place that the statement writes moves with the variable by one element of its \
              tensor's last dimension, and as far as is known in no other",
        sorts: &["Var", "Stmt"],
    },
    Predicate {
        name: "unread",
        doc: "evaluating the second does not read the tensor of the address",
        sorts: &["Address", "'a"],
    },
    Predicate {
        name: "untiled",
        doc: "the loop variable is not that of a block loop or of a loop within a block",
        sorts: &["Var"],
    },
    Predicate {
        name: "unwritten",
        doc: "evaluating the second does not write the tensor of the address",
        sorts: &["Address", "'a"],
    },
    Predicate {
        name: "writable",
        doc: "the address is of a tensor that the program writes",
        sorts: &["Address"],
    },
];

/// Every generator, by name.
pub const GENERATORS: &[Generator] = &[
    Generator {
        name: "even-simd-lanes",
        doc: "the lanes of one vector register, for the element type of the third, where the bounds are \
              constants that these lanes divide",
        sorts: &["Value", "Value", "Value"],
    },
    Generator {
        name: "even-wide-lanes",
        doc: "those of the `wide-lanes` of the second that divide both bounds, which are constants",
        sorts: &["Value", "Value", "Value"],
    },
    Generator {
        name: "few-trips",
        doc: "how often a loop with these bounds and this step runs, where that is the same always and \
              from 2 to 8",
        sorts: &["Value", "Value", "Value"],
    },
    Generator { name: "length", doc: "a constant from 2 to 4096", sorts: &["Value"] },
    Generator {
        name: "one-trip",
        doc: "1 where a loop with these bounds and this step runs once, whatever the data",
        sorts: &["Value", "Value", "Value"],
    },
    Generator {
        name: "simd-lanes",
        doc: "the lanes of one vector register, for the element type that a statement writes or a value \
              has",
        sorts: &["'a"],
    },
    Generator {
        name: "tile-lengths",
        doc: "the bound, a constant, halved again and again, as long as a half is a multiple of two \
              vector registers' lanes",
        sorts: &["Value", "Stmt"],
    },
    Generator {
        name: "wide-lanes",
        doc: "multiples of a vector register's lanes, doubling, up to a bound that is a constant and to \
              the lanes that half the registers hold",
        sorts: &["Value", "'a"],
    },
];
