//! Rules as their files say them: of each its form, in which terms are still texts, and what dialects
//! declare. Nothing here is checked beyond its shape; [`super::load`] makes a book of the same forms.

use super::book::{Exactness, RuleBook};
use super::load;
use super::signature::{Operator, Signature};
use super::syntax::RuleForm;
use crate::diagnostic::{Checked, Sources};
use std::collections::HashMap;
use std::path::PathBuf;

/// Rules by name, and what is declared of operators.
pub struct Stated {
    rules: HashMap<String, (Exactness, RuleForm)>,
    signature: Signature,
}

impl Stated {
    /// Reads rule files and folders of them; all errors at once.
    pub fn read(sources: &mut Sources, paths: &[PathBuf]) -> Checked<Stated> {
        let (mut book, mut errors) = (RuleBook::default(), Vec::new());
        let forms = load::forms(sources, paths, &mut errors);
        let (forms, _) = load::stated(&mut book, forms, &mut errors);
        let mut rules = HashMap::new();
        for (set, form) in forms {
            let own = form.exact.as_ref().and_then(|word| load::exactness(word, &mut errors));
            rules.insert(form.name.text.clone(), (own.unwrap_or(book.sets[set].exact), form));
        }
        load::finish(Stated { rules, signature: book.signature }, errors).map(|(stated, _)| stated)
    }

    /// A rule, and how exact it is. One of two directions has one name.
    pub(crate) fn rule(&self, name: &str) -> Option<&(Exactness, RuleForm)> {
        self.rules.get(name)
    }

    /// An operator, by its name and number of arguments.
    pub(crate) fn operator(&self, name: &str, arity: usize) -> Option<&Operator> {
        self.signature.operator(name.into(), arity)
    }
}
