//! Programs in C on the machine that this process runs on: compiled by the system's C compiler, kept in a folder under
//! the hash of their text, loaded, and called on tensors.
//!
//! This crate knows nothing of models, rules or the simulator. It is the only one with `unsafe` code: a loaded library
//! is trusted to be what its text says, and its text is that of a verified program.
//!
//! ```
//! use ember_native::{Buffers, Compiler, Contraction, Library};
//! use ember_targets::c::{self, Core};
//! use ember_targets::dlc::{Addr, Dim, Expr, Program, Purpose, Stmt, TensorDecl, TensorId};
//! use ember_targets::tensor::{Data, Tensor};
//! use ember_targets::verify::{Limits, verify};
//! use ember_values::scalar::{DType, Scalar};
//! use std::sync::Arc;
//!
//! let tensor = TensorDecl { name: "x".into(), dtype: DType::F32, shape: vec![Dim::Const(2)], purpose: Purpose::Output };
//! let first = Addr { tensor: TensorId(0), index: vec![Expr::Const(Scalar::I64(0))], lanes: None, rows: None };
//! let program = Program {
//!     name: "one".into(),
//!     tensors: vec![tensor],
//!     main: vec![Stmt::Store(first, Expr::Const(Scalar::F32(1.0)))],
//!     ..Program::default()
//! };
//! let program = verify(program, &Limits::NONE).expect("a program");
//! let core = Core { vector_bytes: 16, threads: 1, approximate: false, row_swap: 0, llc_bytes: 1 << 25 };
//! let source = c::print(&program, &[], &[], core).expect("C");
//! let compiler = Compiler::find().expect("a C compiler");
//! let library = Library::load(&compiler.compile(&source, Contraction::Off).expect("compiles"), &source).expect("loads");
//! let x = Tensor { dtype: DType::F32, shape: vec![2], data: Data::F32(Arc::new(vec![3.0, 4.0])) };
//! let mut buffers = Buffers::new(&program, &[x], &[]).expect("fits memory");
//! library.call(&mut buffers).expect("nothing is required of the data");
//! let outputs = buffers.tensors();
//! assert!(matches!(&outputs[0].data, Data::F32(x) if **x == [1.0, 4.0]));
//! ```

mod buffers;
mod compiler;
mod core;
mod library;
mod pages;
#[cfg(feature = "python")]
mod tensors;

pub use buffers::{Buffers, TooLarge};
pub use compiler::{Compiler, Contraction, Error};
pub use core::{Found, found};
pub use library::{Broken, Library, Refused, replacement};
pub use pages::large_pages;
#[cfg(feature = "python")]
pub use tensors::{Caller, Extent, Form, Parameter};
