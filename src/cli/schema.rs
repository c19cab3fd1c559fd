//! The JSON Schema of everything that `--json` prints, derived from the types of the results, one definition for each
//! command. Results that are put together value by value are declared here.

use super::compile::KernelReport;
use super::output::SCHEMA_VERSION;
use super::{extract, self_test, test, verify};
use crate::bench::Row;
use crate::calibrate::Summary as Calibration;
use crate::cores::Cores;
use crate::native::NativeReport;
use crate::report::{Report, RunReport};
use crate::sweep::Summary;
use crate::tune::Summary as Tuning;
use ember_prove::verify::Tried;
use ember_tools::system;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The errors that ended a command.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct Errors {
    /// The errors, in the order of the texts.
    errors: Vec<Error>,
}

/// One error or warning.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct Error {
    /// `error` or `warning`.
    severity: String,
    /// The error in a sentence.
    message: String,
    /// Its place.
    at: Option<Place>,
    /// Other places that have a part in it.
    related: Vec<Place>,
    /// A way out.
    help: Option<String>,
}

/// A place in a text. Lines and columns count from 1, columns in characters.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct Place {
    /// The path of the text.
    file: String,
    /// What is there.
    label: String,
    /// The first line.
    line: usize,
    /// The first column.
    column: usize,
    /// The last line.
    end_line: usize,
    /// The column after the last one.
    end_column: usize,
}

/// The result of `bench`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct Bench {
    /// A row for each workload.
    workloads: Vec<Row>,
    /// The comparison with each GPU that was requested.
    gpus: Vec<crate::gpu::Summary>,
}

/// The result of `verify --mutants`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct Mutants {
    /// Every wrong variant that was tried.
    mutants: Vec<Tried>,
}

/// The result of `equiv`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct Equiv {
    /// `equal`, `different` or `unknown`.
    verdict: String,
    /// The reason of an answer without a certificate.
    reason: Option<String>,
    /// The certificate, if they are equal.
    certificate: Option<String>,
    /// The layouts that the answer assumes.
    layouts: Value,
    /// The conditions on sizes and inputs that the answer assumes.
    assumed: Value,
    /// What the answer rests on.
    trusted: Value,
    /// Data on which they differ.
    counterexample: Option<Value>,
    /// What each attempt at a proof came to.
    phases: Vec<Value>,
    /// Trials in which both sides had a result, or exactly one had.
    compared: usize,
    /// True if the answer is valid for the given sizes only.
    concrete: bool,
    /// Milliseconds until the answer.
    time_ms: f64,
}

/// The result of `check-certificate`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct CheckCertificate {
    /// True if the certificate is valid.
    holds: bool,
    /// The reason why it is not.
    reason: Option<String>,
    /// The number of its steps.
    steps: Option<usize>,
    /// The least exact of its rules.
    exact: Option<String>,
    /// The number of equations that it assumes.
    given: usize,
    /// Milliseconds that the check took.
    time_ms: f64,
}

/// The result of `explain` for a model.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct Explain {
    /// The chains of rules, by group of statements.
    groups: Vec<Chain>,
}

/// The chain of rules that leads to the program of a group of statements.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct Chain {
    /// The tensors that the statements write.
    statements: Value,
    /// The groups that are equal to this one up to names.
    alike: Value,
    /// Cycles of its program alone; with `--sample`, as estimated from samples if the data is long.
    cycles: Option<u64>,
    /// The first term, and the steps from it.
    chain: Option<Value>,
    /// The reason why there is no chain.
    gap: Option<String>,
}

/// The result of `explain --terms`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct ExplainTerms {
    /// True if a chain of rules leads from one term to the other.
    equal: bool,
    /// The first term, and the steps from it.
    chain: Option<Value>,
    /// The reason why the search ended.
    stop_reason: String,
}

/// The result of `why-not`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct WhyNot {
    /// The rule.
    rule: String,
    /// The obstacle that stopped it, in a word.
    cause: String,
    /// The answer in a sentence.
    verdict: String,
    /// The evidence.
    evidence: Vec<Evidence>,
    /// A suggestion.
    help: Option<String>,
}

/// A piece of evidence.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "declares the form of JSON only")]
struct Evidence {
    /// Its kind in a word.
    what: String,
    /// The evidence.
    text: String,
}

/// Returns the definition of one kind of result: an object with the version of the form.
fn versioned<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let version = json!({ "type": "object", "required": ["schema_version"] });
    json!({ "allOf": [version, generator.subschema_for::<T>()] })
}

/// Returns the schema as text; `docs/src/output.schema.json` is a copy of it.
pub(super) fn text() -> String {
    format!("{:#}\n", schema())
}

fn schema() -> Value {
    let generator = &mut SchemaSettings::draft2020_12().for_serialize().into_generator();
    let kinds = [
        ("errors", versioned::<Errors>(generator)),
        ("main-job", versioned::<Report>(generator)),
        ("native", versioned::<NativeReport>(generator)),
        ("kernel", versioned::<KernelReport>(generator)),
        ("run", versioned::<RunReport>(generator)),
        ("bench", versioned::<Bench>(generator)),
        ("cores", versioned::<Cores>(generator)),
        ("sweep", versioned::<Summary>(generator)),
        ("tune", versioned::<Tuning>(generator)),
        ("calibrate", versioned::<Calibration>(generator)),
        ("test", versioned::<test::Report>(generator)),
        ("verify", versioned::<verify::Report>(generator)),
        ("verify-mutants", versioned::<Mutants>(generator)),
        ("equiv", versioned::<Equiv>(generator)),
        ("check-certificate", versioned::<CheckCertificate>(generator)),
        ("self-test", versioned::<self_test::Report>(generator)),
        ("saturate", versioned::<system::Report>(generator)),
        // An array, as the collection of e-graphs extraction-gym expects it.
        ("extract", generator.subschema_for::<Vec<extract::Row>>().into()),
        ("explain", versioned::<Explain>(generator)),
        ("explain-terms", versioned::<ExplainTerms>(generator)),
        ("why-not", versioned::<WhyNot>(generator)),
    ];
    let any: Vec<Value> = kinds.iter().map(|(kind, _)| reference(kind)).collect();
    let mut definitions: Map<String, Value> = generator.take_definitions(true);
    definitions.extend(kinds.map(|(kind, schema)| (kind.to_owned(), schema)));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What `ember-rewrite … --json` prints",
        "properties": { "schema_version": { "enum": [SCHEMA_VERSION] } },
        "anyOf": any,
        "$defs": definitions,
    })
}

fn reference(kind: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{kind}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_schema_of_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/output.schema.json");
        if std::env::var_os("BLESS").is_some_and(|v| v != "0") {
            std::fs::write(path, text()).expect("is written");
        }
        let file = std::fs::read_to_string(path).expect("the schema");
        assert!(file == text(), "BLESS=1 cargo test --lib schema writes the schema anew");
    }
}
