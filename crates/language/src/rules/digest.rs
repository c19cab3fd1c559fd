//! A digest of rules and dialects: equal for equal declarations, rules and conditions, in any order and layout. Texts,
//! tests, schedules and rule sets do not count.
//!
//! The digest detects rules that were changed by mistake. It is no defence against a deliberate search for two rule
//! files with one digest: a reader of certificates checks them against the given rules.

use super::book::Exactness;
use super::rule_form::RuleForm;
use super::syntax::{DialectForm, TuneForm, Word};
use crate::sexp::{Kind, Sexp, deeper};

/// Collects the parts of the digest.
#[derive(Default)]
pub(super) struct Digest(Vec<String>);

impl Digest {
    /// Adds the declarations of a dialect.
    pub fn dialect(&mut self, form: &DialectForm) {
        self.0.extend(form.items.iter().map(plain));
    }

    /// Adds the values of a parameter, which rules are right for.
    pub fn parameter(&mut self, form: &TuneForm) {
        self.0.push(format!("(tune {} {})", form.name.text, plain(&form.values)));
    }

    /// Adds a rule and its exactness.
    pub fn rule(&mut self, form: &RuleForm, exact: Exactness) {
        let exact = Some(Word { text: exact.name().to_owned(), span: form.name.span });
        let (phase, subsume) = (None, None);
        let (tests, counter_tests) = (Vec::new(), Vec::new());
        let bare = RuleForm { exact, phase, subsume, tests, counter_tests, ..form.clone() };
        self.0.push(plain(&bare.form()));
    }

    /// Returns the digest: FNV-1a in 128 bits, as hexadecimal digits.
    pub fn finish(mut self) -> String {
        const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
        const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
        self.0.sort_unstable();
        let bytes = self.0.iter().flat_map(|line| line.bytes().chain([b'\n']));
        let hash = bytes.fold(START, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME));
        format!("{hash:032x}")
    }
}

/// Returns a form on one line, without texts.
fn plain(of: &Sexp) -> String {
    deeper(|| match &of.kind {
        Kind::Atom(word) => word.clone(),
        Kind::Text(_) => String::new(),
        Kind::List(items) => {
            let items = items.iter().filter(|item| item.text().is_none());
            format!("({})", items.map(plain).collect::<Vec<_>>().join(" "))
        }
    })
}
