//! Decoupling of hand-written SLC terms, and coupled programs of SCF terms: what comes out is
//! pinned.

mod common;

use common::{bag_context, term};
use ember_rewrite::coupled::coupled;
use ember_rewrite::decouple::decouple;
use ember_targets::print::print;

#[test]
fn show() {
    for text in [common::OPT0, common::OPT2, common::OPT3, common::SEARCH] {
        let program = decouple(&term(text), &bag_context()).unwrap();
        println!("{}", print(&program));
    }
    println!("{}", print(&coupled(&term(common::SCF), &bag_context()).unwrap()));
}
