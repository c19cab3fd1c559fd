//! Data that would make a program leave its tensors is refused before anything is written.

use ember_compile::cost::Goal;
use ember_compile::native;
use ember_compile::pipeline::{Case, Options, compile, read};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_native::{Buffers, Compiler, Contraction, Library, Refused};
use ember_targets::tensor::{Data, Tensor};
use std::path::Path;
use std::sync::Arc;

/// Calls the embedding bag on its data with other indices or offsets, if any are given.
fn called(indices: Option<Vec<i64>>, offsets: Option<Vec<i64>>) -> Result<bool, Refused> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let options = Options {
        rules: vec![root.join("rules")],
        target: "cpu".to_owned(),
        schedule: "native".to_owned(),
        ..Options::default()
    };
    let mut sources = Sources::new(Disk);
    let model = root.join("examples/embedding_bag.sexp");
    let inputs = read(&mut sources, &model, &options).expect("a model");
    let chosen = compile(&inputs, &options, Goal::Coupled).expect("a program");
    let source = native::source(&inputs, &chosen.program).expect("C");
    let compiler = Compiler::find().expect("a C compiler");
    let path = compiler.compile(&source, Contraction::Off).expect("compiles");
    let library = Library::load(&path, &source).expect("loads");
    let case = Case::new(&inputs.model, None, options.exact).expect("data");
    let mut data = case.bindings(&chosen.program).expect("fits");
    let mut put = |name: &str, of: &dyn Fn(&[i64]) -> Vec<i64>| {
        let at =
            chosen.program.tensors.iter().position(|tensor| tensor.name == name).expect("an input");
        let Data::I64(held) = &data.tensors[at].data else { panic!("indices are held") };
        let changed = of(held);
        assert_eq!(changed.len(), held.len());
        let Tensor { dtype, shape, .. } = data.tensors[at].clone();
        data.tensors[at] = Tensor { dtype, shape, data: Data::I64(Arc::new(changed)) };
    };
    // Given elements replace the first ones; the rest stays.
    for (name, given) in [("indices", indices), ("offsets", offsets)] {
        if let Some(given) = given {
            put(name, &|held| [&given[..], &held[given.len()..]].concat());
        }
    }
    let sizes = data.sizes.clone();
    let mut buffers = Buffers::new(&chosen.program, &data.tensors, &sizes).expect("fits memory");
    library.call(&mut buffers)?;
    Ok(case.compare(&chosen.program, &buffers.tensors(), options.exact).is_ok())
}

#[test]
fn data_that_fits_is_accepted() {
    assert_eq!(called(None, None), Ok(true));
}

#[test]
fn indices_outside_of_the_table() {
    assert_eq!(called(Some(vec![-1]), None), Err(Refused(1)));
    assert_eq!(called(Some(vec![i64::MIN]), None), Err(Refused(1)));
    assert_eq!(called(Some(vec![1 << 40]), None), Err(Refused(1)));
}

#[test]
fn offsets_that_do_not_partition_the_lookups() {
    assert_eq!(called(None, Some(vec![1])), Err(Refused(2)));
    assert_eq!(called(None, Some(vec![0, i64::MAX])), Err(Refused(2)));
    assert_eq!(called(None, Some(vec![0, -1])), Err(Refused(2)));
}
