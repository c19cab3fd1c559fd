//! Tests of demands against counts by hand.

use super::*;
use ember_host::Disk;
use ember_language::diagnostic::Sources;

/// Returns the demand of a model with these statements and data.
fn of(statements: &str, data: &str) -> (Demand, u64) {
    let mut sources = Sources::new(Disk);
    let text = format!("(model m {statements} (data {data}))");
    let file = sources.add("<test>", text);
    let model = Model::parse(&sources, file).unwrap_or_else(|e| panic!("{e:#?}"));
    let instance = model.instantiate(None).unwrap_or_else(|e| panic!("{e:#?}"));
    let machine = Machine::plus().expect("the machine");
    demand(&model, &instance, &machine, &Spared::default())
}

const BAG: &str = "(input t f32 (rows 10)) (input i i64 (n)) (input o i64 (b+1))
    (output out (emb.bag sum t i o))";

#[test]
fn lines_are_counted_once() {
    // Rows have 40 bytes: rows 0 and 1 share lines 0 and 1, and row 50 (bytes 2000..2040) is in line 31. Indices and
    // offsets take a line each. The banks hold lines 0 and 1 in one row. The two rows that are written have 80 bytes.
    let data = "(size rows 100) (t (constant 1)) (i (values 0 1 0 50)) (o (values 0 3 3 4))";
    let (demand, elements) = of(BAG, data);
    let memory = Demand { lines: 5, written_lines: 1, bank_rows: 4, ..Demand::default() };
    let expected = Demand { vector_ops: 2, loads: 4, stores: 2, ..memory };
    assert_eq!((demand, elements), (expected, 40));
    // The same lookups twice need no more lines.
    let (twice, elements) = of(&format!("{BAG} (output more (emb.bag mean t i o))"), data);
    assert_eq!((twice.lines, twice.stores, elements), (5, 4, 80));
}

#[test]
fn rows_that_fit_no_cache_are_brought_for_each_lookup() {
    let data = "(size rows 1000000) (size b 50) (t (constant 1)) (o (ragged (mean 1000)))
        (i (zipf 0))";
    let (demand, elements) = of(BAG, data);
    assert!(demand.lane_bytes == elements * 4 && demand.row_bytes == elements * 4);
    let gather = "(input t f32 (rows 10)) (input i i64 (n)) (output out (emb.gather t i))";
    let data = "(size rows 1000000) (size n 50000) (t (constant 1)) (i (zipf 0))";
    let (demand, elements) = of(gather, data);
    assert_eq!((demand.lane_bytes, demand.row_bytes), (elements * 4, elements * 4));
    assert_eq!((demand.vector_ops, demand.loads, demand.stores), (0, 0, 0), "a copy");
}

#[test]
fn operators_ask_for_their_operations() {
    let dense = "(input x f32 (64 32)) (input w f32 (32 16)) (output p (nn.matmul x w))
        (output q (nn.sigmoid x))";
    let (demand, elements) = of(dense, "(x (constant 1)) (w (constant 1))");
    assert_eq!(elements, 64 * 32 + 32 * 16);
    assert_eq!(demand.lines, 64 * 2 + 32);
    assert_eq!(demand.macs, 64 * 32 * 16 * 16 / 17, "the vector ports could do the rest");
    assert_eq!(demand.vector_ops, 13 * 64 * 2);
    assert_eq!((demand.loads, demand.stores), (64 * 2 * 2 + 32, 64 + 64 * 2));
    // An edge function takes the inner product and the sum of rows, for 3 edges and one row.
    let graph = "(input x f32 (b 32)) (input i i64 (n)) (input o i64 (b+1))
        (output out (emb.mp identity x x i o))";
    let (demand, elements) = of(graph, "(x (constant 1)) (i (values 0 1 0)) (o (values 0 3 3))");
    assert_eq!((demand.vector_ops, elements), (3 * 2 * 4 - 3 - 1, 3 * 32));
    assert_eq!((demand.loads, demand.stores), (3 * 2 + 2, 2));
    let triples = "(input e f32 (4 32)) (input i i64 (n)) (output out (emb.kg rotate e e i i i))";
    let (demand, _) = of(triples, "(e (constant 1)) (i (values 0 1))");
    // The three rows of a triple are the same, and are loaded once.
    assert_eq!((demand.lines, demand.vector_ops, demand.loads), (5, 2 * 13 - 2, 4));
}

#[test]
fn nothing_is_asked_for_nothing() {
    let (demand, _) = of(BAG, "(size rows 10) (t (constant 1)) (i (values)) (o (values 0))");
    assert_eq!(demand, Demand::default());
}
