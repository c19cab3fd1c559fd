//! The rows of the table agree with themselves, and say how models write them.

use super::*;

#[test]
fn roles_speak_of_operands_that_the_row_has() {
    for row in &OPERATIONS {
        assert_eq!(OPERATIONS.iter().filter(|other| other.name == row.name).count(), 1);
        for (at, operand) in row.operands.iter().enumerate() {
            let is_written = row.written.contains(&at);
            assert_eq!(is_written, !matches!(operand.role, Role::Scratch(_)), "{}", row.name);
            if let Role::Indices(_, of) | Role::Offsets(of) = operand.role {
                assert!(row.place(of).is_some(), "`{}` has no operand `{of}`", row.name);
            }
        }
    }
}

#[test]
fn usage_is_in_the_order_of_models() {
    let usage = |name| named(name).map(Operation::usage).unwrap_or_default();
    assert_eq!(usage("emb.bag"), "sum|mean|max TABLE INDICES OFFSETS [WEIGHTS]");
    assert_eq!(usage("emb.spmm"), "TABLE INDICES OFFSETS VALUES");
    assert_eq!(
        usage("emb.mp"),
        format!("{} LEFT RIGHT INDICES OFFSETS", FUNCTIONS.names.join("|"))
    );
}
