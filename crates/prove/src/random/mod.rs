//! Random terms and programs, made from the operator table. One generator serves all: `grow` chooses an operator of
//! the right kind and type and gives it random operands. A `Setting` chooses what terms are made over:
//! `Anywhere`, all tensors of a `World`, where most terms have a meaning, for testing rules; or a `Plan`, under
//! which no run of a program faults, for [`Made`] programs.

mod again;
mod aim;
mod anywhere;
mod bind;
mod build;
mod changing;
mod corner;
mod grammar;
mod grow;
mod integers;
mod meeting;
mod mention;
mod model;
mod program;
mod said;
mod types;
mod unsaid;
mod world;

pub use model::{RandomModel, Shape};
pub use program::Made;

pub(crate) use aim::Aim;
pub(crate) use anywhere::Anywhere;
pub(crate) use build::Build;
#[cfg(test)]
pub(crate) use grammar::sort;
pub(crate) use grammar::{Grammar, pattern};
pub(crate) use grow::{Grow, Scope, Setting, Type};
pub(crate) use mention::computed;
pub(crate) use said::Said;
pub(crate) use types::{Hole, Types};
pub(crate) use unsaid::unsaid;
pub(crate) use world::{COLUMNS, ENTRIES, ROWS, SCRATCH, World, edge, extreme, tensor_name};
