//! Data that would make a program leave its tensors is refused before anything is written.

use super::compiled::Compiled;
use ember_language::rules::Exactness;
use ember_native::{Buffers, Compiler, Contraction, Library, Refused};
use ember_targets::tensor::{Data, Tensor};
use std::sync::Arc;

/// Calls the embedding bag on its data with other indices or offsets, if any are given.
fn called(indices: Option<Vec<i64>>, offsets: Option<Vec<i64>>) -> Result<bool, Refused> {
    let Compiled { program, source, case, mut data } =
        Compiled::of("embedding_bag.sexp", 1, |text| text);
    let compiler = Compiler::find().expect("a C compiler");
    let path = compiler.compile(&source, Contraction::Off).expect("compiles");
    let library = Library::load(&path, &source).expect("loads");
    let mut put = |name: &str, of: &dyn Fn(&[i64]) -> Vec<i64>| {
        let at = program.tensors.iter().position(|tensor| tensor.name == name).expect("an input");
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
    let mut buffers = Buffers::new(&program, &data.tensors, &sizes).expect("fits memory");
    library.call(&mut buffers)?;
    Ok(case.compare(&program, &buffers.tensors(), Exactness::Bitwise).is_ok())
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
