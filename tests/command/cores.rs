//! Programs on several cores: every model is refused, or has the outputs of the reference.

use crate::common::{ember, root, word};
use std::fs;

#[test]
fn rows_are_divided_only_if_they_are_independent() {
    let folder = fs::read_dir(root().join("tests/models")).expect("a folder");
    let models = folder.map(|entry| entry.expect("an entry").path());
    let mut models: Vec<_> =
        models.filter(|path| path.extension().is_some_and(|e| e == "sexp")).collect();
    models.sort();
    let (mut divided, mut refused) = (0, 0);
    for model in models {
        let own = ["--cores", "3", "--schedule", "emb-opt3", "--candidates", "1", "--json"];
        let ran = ember(&[&["cores", &word(&model)], &own[..]].concat());
        match ran.code {
            Some(0) => divided += 1,
            Some(2) => {
                let message = ran.json()["errors"][0]["message"].to_string();
                assert!(message.contains("cannot be divided"), "{message}");
                refused += 1;
            }
            _ => panic!("{}: {}", model.display(), ran.err),
        }
    }
    assert!(divided >= 20 && refused >= 8, "{divided} {refused}");
}
