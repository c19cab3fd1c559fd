//! Rules as they are written in their files: the form of each rule, in which terms are still text, and the declarations
//! of dialects. Only the shape is checked here; [`super::load`] builds a book from the same forms.

use super::book::{Exactness, RuleBook};
use super::digest::Digest;
use super::files::InFile;
use super::load;
use super::operators::Operators;
use super::parameters::Parameters;
use super::rule_form::RuleForm;
use super::signature::Signature;
use super::syntax::{self, Form};
use crate::diagnostic::{Checked, Sources};
use crate::sexp::Sexp;
use rustc_hash::FxHashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The rules by name, and the declarations of operators.
#[derive(Default)]
pub struct Stated {
    rules: FxHashMap<String, Arc<(Exactness, RuleForm)>>,
    signature: Signature,
    parameters: Parameters,
    digest: String,
}

impl Stated {
    /// Reads rule files and folders; returns all errors at once.
    pub fn read(sources: &mut Sources, paths: &[PathBuf]) -> Checked<Stated> {
        let (mut book, mut errors) = (RuleBook::default(), Vec::new());
        let forms = load::forms(sources, paths, &mut errors);
        let mut digest = Digest::default();
        for InFile { form, .. } in &forms {
            match form {
                Form::Dialect(dialect) => digest.dialect(dialect),
                Form::Tune(parameter) => digest.parameter(parameter),
                _ => {}
            }
        }
        let (forms, _) = load::stated(&mut book, forms, &mut errors);
        let mut rules = FxHashMap::default();
        for (set, form) in forms {
            let own = form.exact.as_ref().and_then(|word| load::exactness(word, &mut errors));
            let exact = own.unwrap_or(book.sets[set].exact);
            digest.rule(&form, exact);
            rules.insert(form.name.text.clone(), Arc::new((exact, form)));
        }
        let RuleBook { signature, parameters, .. } = book;
        let stated = Stated { rules, signature, parameters, digest: digest.finish() };
        load::finish(stated, errors).map(|(stated, _)| stated)
    }

    /// Adds a rule from elsewhere. Returns true if it replaced a rule of the same name; `None` if the form is not a
    /// rule.
    pub fn give(&mut self, form: &Sexp) -> Option<bool> {
        let mut errors = Vec::new();
        let Some(Form::Rule(rule)) = syntax::form(form, &mut errors) else { return None };
        let exact = match &rule.exact {
            Some(word) => load::exactness(word, &mut errors)?,
            None => Exactness::Bitwise,
        };
        let name = rule.name.text.clone();
        errors.is_empty().then(|| self.rules.insert(name, Arc::new((exact, *rule))).is_some())
    }

    /// Returns true if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns a rule and its exactness. Both directions of a rule have one name.
    pub fn rule(&self, name: &str) -> Option<Arc<(Exactness, RuleForm)>> {
        self.rules.get(name).cloned()
    }

    /// Returns true if a number is a value of a parameter; `None` if there is no such parameter.
    pub fn is_value(&self, parameter: &str, number: i64) -> Option<bool> {
        Some(self.parameters.named(parameter)?.values.numbers().contains(&number))
    }

    /// Returns a digest of the content, which does not depend on texts, layout or order.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the declarations of the dialects.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Returns the operator table of the dialects.
    pub fn table(&self) -> &Operators {
        self.signature.table()
    }
}
