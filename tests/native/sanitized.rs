//! The code of every example under the sanitizers for addresses and for undefined behaviour, on tensors that end where
//! their memory ends, and on data that it refuses.

use super::compiled::{Compiled, examples, folder, smaller};
use ember_language::rules::Exactness;
use ember_targets::c::Source;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::Scalar;
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The most elements of a dimension: sanitized code is slow.
const MOST: u64 = 500;

/// Returns a model's text with small sizes.
fn small(text: String) -> String {
    smaller(&text, MOST)
}

/// Compiles a program with its caller.
fn program(source: &Source, folder: &Path) -> PathBuf {
    let text = folder.join("program.c");
    fs::write(&text, format!("{}\n{}", source.text, include_str!("sanitized.c")))
        .expect("is written");
    let program = folder.join("program");
    let compiled = Command::new("cc")
        .args([
            "-std=gnu11",
            "-O1",
            "-g",
            "-march=native",
            "-fwrapv",
            "-ffp-contract=off",
            "-Wno-psabi",
        ])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
        .arg(format!("-DPROGRAM={}_call", source.name))
        .args([format!("-DSIZES={}", source.sizes), format!("-DTENSORS={}", source.tensors)])
        .args([text.as_os_str(), "-lm".as_ref(), "-o".as_ref(), program.as_os_str()])
        .output()
        .expect("cc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

fn bytes(tensor: &Tensor) -> Vec<u8> {
    let elements = (0..tensor.len()).filter_map(|at| tensor.get(at));
    elements
        .flat_map(|element| match element {
            Scalar::F32(x) => x.to_le_bytes().to_vec(),
            Scalar::F64(x) => x.to_le_bytes().to_vec(),
            Scalar::I32(x) => x.to_le_bytes().to_vec(),
            Scalar::I64(x) => x.to_le_bytes().to_vec(),
            Scalar::F16(x) => x.to_le_bytes().to_vec(),
            Scalar::BF16(x) => x.to_le_bytes().to_vec(),
            Scalar::U8(x) | Scalar::U4(x) => vec![x],
            Scalar::I8(x) => x.to_le_bytes().to_vec(),
        })
        .collect()
}

/// Runs a program on tensors, and returns what it wrote, with its status.
fn run(program: &Path, sizes: &[i64], tensors: &[Tensor], folder: &Path) -> (Vec<Tensor>, Output) {
    let (data, out) = (folder.join("data"), folder.join("out"));
    let mut written: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
    for tensor in tensors {
        let bytes = bytes(tensor);
        written.extend((bytes.len() as i64).to_le_bytes());
        written.extend((tensor.dtype.bits().max(8) as i64 / 8).to_le_bytes());
        written.extend(bytes);
    }
    fs::write(&data, written).expect("is written");
    let ran = Command::new(program).args([&data, &out]).output().expect("runs");
    let left = fs::read(&out).expect("was written");
    let mut from = 0;
    let read = tensors.iter().map(|tensor| {
        let bytes = usize::try_from(tensor.bytes()).expect("fits memory");
        let own = left.get(from..from + bytes).unwrap_or_default();
        from += bytes;
        Tensor { data: Data::of_bytes(tensor.dtype, own, true), ..tensor.clone() }
    });
    (read.collect(), ran)
}

fn messages(ran: &Output) -> String {
    String::from_utf8_lossy(&ran.stderr).into_owned()
}

#[test]
fn every_example() {
    examples().into_par_iter().for_each(|model| {
        let name = model.file_name().and_then(|name| name.to_str()).expect("a name");
        let folder = folder(&format!("sanitized-{name}"));
        let Compiled { program: verified, source, case, data } = Compiled::of(name, 1, small);
        let program = program(&source, &folder);
        let (left, ran) = run(&program, &data.sizes, &data.tensors, &folder);
        assert_eq!(ran.status.code(), Some(0), "{name}: {}", messages(&ran));
        // The C library's functions may differ from the reference's in their last bits.
        if source.replaceable.is_empty() {
            let compared = case.compare(&verified, &left, Exactness::Bitwise);
            assert!(
                compared.is_ok(),
                "{name}: {}",
                compared.err().map(|e| e.to_string()).unwrap_or_default()
            );
        }
        let _ = fs::remove_dir_all(&folder);
    });
}

#[test]
fn data_that_is_refused() {
    let folder = folder("sanitized-refused");
    let Compiled { program: verified, source, data, .. } =
        Compiled::of("embedding_bag.sexp", 1, small);
    let program = program(&source, &folder);
    let at =
        |name: &str| verified.tensors.iter().position(|own| own.name == name).expect("an input");
    let with = |name: &str, change: &dyn Fn(&mut Vec<i64>)| {
        let mut tensors = data.tensors.clone();
        let Data::I64(held) = &mut tensors[at(name)].data else { panic!("indices are held") };
        change(std::sync::Arc::make_mut(held));
        let (left, ran) = run(&program, &data.sizes, &tensors, &folder);
        assert!(left[at("out")].same_bits(&tensors[at("out")]), "nothing is written");
        assert_eq!(messages(&ran), "");
        ran.status.code()
    };
    assert_eq!(with("indices", &|indices| indices[0] = MOST as i64), Some(1));
    assert_eq!(with("indices", &|indices| indices[7] = -1), Some(1));
    assert_eq!(with("indices", &|indices| indices[7] = i64::MAX), Some(1));
    assert_eq!(with("offsets", &|offsets| offsets[1] = -1), Some(2));
    assert_eq!(with("offsets", &|offsets| offsets[3] = i64::MAX), Some(2));
    assert_eq!(with("offsets", &|offsets| *offsets.last_mut().expect("one") += 1), Some(2));
}

#[test]
fn nothing_at_all() {
    let folder = folder("sanitized-empty");
    let Compiled { program: verified, source, data, .. } =
        Compiled::of("embedding_bag.sexp", 1, small);
    let program = program(&source, &folder);
    let empty = |rows: i64, bags: i64| -> (Vec<i64>, Vec<Tensor>) {
        let size = |name: &String| match name.as_str() {
            "rows" => rows,
            "lookups" => 0,
            "bags" => bags,
            _ => bags + 1,
        };
        let zeros = data.tensors.iter().zip(&verified.tensors).map(|(tensor, own)| {
            let shape = match own.name.as_str() {
                "table" => vec![rows.unsigned_abs(), 64],
                "indices" => vec![0],
                "offsets" => vec![bags.unsigned_abs() + 1],
                _ => vec![bags.unsigned_abs(), 64],
            };
            Tensor::zeros(tensor.dtype, shape)
        });
        (verified.sizes.iter().map(size).collect(), zeros.collect())
    };
    for (rows, bags) in [(0, 0), (0, 3), (5, 0), (5, 3)] {
        let (sizes, tensors) = empty(rows, bags);
        let (left, ran) = run(&program, &sizes, &tensors, &folder);
        assert_eq!(ran.status.code(), Some(0), "{rows} rows, {bags} bags: {}", messages(&ran));
        assert!(left.iter().zip(&tensors).all(|(a, b)| a.same_bits(b)));
    }
}
