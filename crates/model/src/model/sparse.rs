//! Reading the operators of the dialect `emb`: lookups, sparse matrices, triples and blocks.

use super::operand::{Keep, shown};
use super::operator::{Form, Value};
use super::read::Reader;
use super::{Computed, Declared, Edge, Expr, Extent, Kind, Mode, Op, Role, Score, TensorId};
use ember_language::diagnostic::Diagnostic;
use ember_language::sexp::Sexp;
use ember_values::scalar::DType;

/// Indices and offsets, with what follows from their shapes.
struct Bags {
    indices: TensorId,
    offsets: TensorId,
    lookups: Extent,
    bags: Extent,
}

fn whole(op: Op, dtype: DType, shape: Vec<Extent>, form: Form) -> Option<Value> {
    Some(Value::Whole(Expr { op, dtype, shape, span: form.span }))
}

fn table(reader: &mut Reader, item: &Sexp) -> Option<Expr> {
    reader.ranked(item, "a table", &[2], Keep::Often)
}

/// Reads indices and offsets; both, so that what is wrong with either is told.
fn bags(reader: &mut Reader, indices: &Sexp, offsets: &Sexp) -> Option<Bags> {
    let indices = reader.positions(indices, Role::Indices, &[1]);
    let offsets = reader.positions(offsets, Role::Offsets, &[1]);
    let ((indices, lookups), (offsets, ends)) = (indices?, offsets?);
    let Some(bags) = ends[0].less_one() else {
        let help = match &ends[0] {
            Extent::Size { name, .. } => format!("write `(+ {name} 1)` if there are `{name}` bags"),
            Extent::Const(_) => "there is one offset more than there are bags".to_owned(),
        };
        let span = reader.inputs[offsets.0].0.extent_spans[0];
        let label = "one more than the number of bags is needed";
        reader.error_with_help(span, "offsets include the end of the last bag", label, help);
        return None;
    };
    Some(Bags { indices, offsets, lookups: lookups[0].clone(), bags })
}

/// Reads one number for each lookup, of a table's type.
fn weights(
    reader: &mut Reader,
    item: &Sexp,
    what: &str,
    table: &Expr,
    lookups: &Extent,
) -> Option<TensorId> {
    let (id, expr) = reader.address(item, what, &[1])?;
    reader.same_type(item, (what, &expr), ("the table", table.dtype))?;
    reader.same_extent(item.span, (what, &expr.shape[0]), ("indices", lookups))?;
    Some(id)
}

pub(super) fn bag(reader: &mut Reader, form: Form) -> Option<Value> {
    let [mode, table_item, indices, offsets, rest @ ..] = form.args else { return None };
    let mode = reader.choice("mode", mode, &Mode::ALL, Mode::name);
    let table = table(reader, table_item);
    let bags = bags(reader, indices, offsets);
    let (mode, table, bags) = (mode?, table?, bags?);
    reader.computable(table_item, form.name, &table)?;
    let weights = match rest.first() {
        Some(item) => Some(weights(reader, item, "weights", &table, &bags.lookups)?),
        None => None,
    };
    let (dtype, shape) = (table.dtype, vec![bags.bags, table.shape[1].clone()]);
    let Bags { indices, offsets, .. } = bags;
    whole(Op::Bag { mode, table: Box::new(table), indices, offsets, weights }, dtype, shape, form)
}

pub(super) fn gather(reader: &mut Reader, form: Form) -> Option<Value> {
    let [table_item, indices] = form.args else { return None };
    let table = table(reader, table_item);
    let indices = reader.positions(indices, Role::Indices, &[1]);
    let (table, (indices, lookups)) = (table?, indices?);
    let (dtype, shape) = (table.dtype, vec![lookups[0].clone(), table.shape[1].clone()]);
    whole(Op::Gather { table: Box::new(table), indices }, dtype, shape, form)
}

pub(super) fn spmm(reader: &mut Reader, form: Form) -> Option<Value> {
    let [table_item, indices, offsets, values] = form.args else { return None };
    let table = table(reader, table_item);
    let bags = bags(reader, indices, offsets);
    let (table, bags) = (table?, bags?);
    reader.computable(table_item, form.name, &table)?;
    let values = weights(reader, values, "values", &table, &bags.lookups)?;
    let (dtype, shape) = (table.dtype, vec![bags.bags, table.shape[1].clone()]);
    let Bags { indices, offsets, .. } = bags;
    whole(Op::Spmm { table: Box::new(table), indices, offsets, values }, dtype, shape, form)
}

/// The two sides of edges: rows of one width and type, one on the left for each bag.
fn sides(
    reader: &mut Reader,
    name: &str,
    items: [&Sexp; 4],
) -> Option<(Box<Expr>, Box<Expr>, Bags)> {
    let [left_item, right_item, indices, offsets] = items;
    let left = reader.ranked(left_item, "the left side", &[2], Keep::Often);
    let right = reader.ranked(right_item, "the right side", &[2], Keep::Often);
    let bags = bags(reader, indices, offsets);
    let (left, right, bags) = (left?, right?, bags?);
    reader.computable(left_item, name, &left)?;
    reader.same_type(right_item, ("the right side", &right), ("the left side", left.dtype))?;
    let columns = ("columns of the right side", &right.shape[1]);
    reader.same_extent(right_item.span, columns, ("those of the left one", &left.shape[1]))?;
    let rows = ("rows of the left side", &left.shape[0]);
    reader.same_extent(left_item.span, rows, ("bags", &bags.bags))?;
    Some((Box::new(left), Box::new(right), bags))
}

pub(super) fn sddmm(reader: &mut Reader, form: Form) -> Option<Value> {
    let [left, right, indices, offsets] = form.args else { return None };
    let (left, right, bags) = sides(reader, form.name, [left, right, indices, offsets])?;
    let (dtype, shape) = (left.dtype, vec![bags.lookups]);
    let Bags { indices, offsets, .. } = bags;
    whole(Op::Sddmm { left, right, indices, offsets }, dtype, shape, form)
}

pub(super) fn mp(reader: &mut Reader, form: Form) -> Option<Value> {
    let [edge, left, right, indices, offsets] = form.args else { return None };
    let edge = reader.choice("edge function", edge, &Edge::ALL, Edge::name);
    let sides = sides(reader, form.name, [left, right, indices, offsets]);
    let (edge, (left, right, bags)) = (edge?, sides?);
    if matches!(edge, Edge::Sigmoid | Edge::Exp) {
        reader.floating(&form.args[1], form.name, &left)?;
    }
    let (dtype, columns) = (left.dtype, right.shape[1].clone());
    let Bags { indices, offsets, lookups, bags } = bags;
    let scratch = TensorId(reader.inputs.len() + reader.computed.len());
    let name = reader.fresh_name();
    let tensor = Declared { name, dtype, shape: vec![lookups], span: form.span };
    reader.computed.push(Computed { tensor, kind: Kind::Scratch });
    let op = Op::Mp { edge, left, right, indices, offsets, scratch };
    whole(op, dtype, vec![bags, columns], form)
}

pub(super) fn kg(reader: &mut Reader, form: Form) -> Option<Value> {
    let [score, entities_item, relations_item, positions @ ..] = form.args else { return None };
    let score = reader.choice("score", score, &Score::ALL, Score::name);
    let entities = reader.ranked(entities_item, "entities", &[2], Keep::Often);
    let relations = reader.ranked(relations_item, "relations", &[2], Keep::Often);
    let read = |item| reader.positions(item, Role::Indices, &[1]);
    let positions: Vec<_> = positions.iter().map(read).collect();
    let positions: Option<Vec<_>> = positions.into_iter().collect();
    let (score, entities, relations) = (score?, entities?, relations?);
    let [(heads, triples), (rels, second), (tails, third)] = positions?.try_into().ok()?;
    reader.floating(entities_item, form.name, &entities)?;
    reader.same_type(relations_item, ("relations", &relations), ("entities", entities.dtype))?;
    let columns = ("columns of relations", &relations.shape[1]);
    let wanted = ("those of entities", &entities.shape[1]);
    reader.same_extent(relations_item.span, columns, wanted)?;
    reader.same_extent(form.args[4].span, ("relations", &second[0]), ("heads", &triples[0]))?;
    reader.same_extent(form.args[5].span, ("tails", &third[0]), ("heads", &triples[0]))?;
    if score.is_complex() {
        let what = "the columns of complex rows";
        let columns = reader.constant(entities_item.span, what, &entities.shape[1])?;
        if columns % 2 != 0 {
            let message = "complex rows have as many real as imaginary parts";
            reader.error(entities_item.span, message, format!("{columns} columns are odd"));
            return None;
        }
    }
    let dtype = entities.dtype;
    let (entities, relations) = (Box::new(entities), Box::new(relations));
    whole(Op::Kg { score, entities, relations, heads, rels, tails }, dtype, triples, form)
}

pub(super) fn block_gather(reader: &mut Reader, form: Form) -> Option<Value> {
    let [table_item, indices_item] = form.args else { return None };
    let table = reader.ranked(table_item, "a table of blocks", &[3], Keep::Often);
    let indices = reader.positions(indices_item, Role::Indices, &[1, 2]);
    let (table, (indices, mut shape)) = (table?, indices?);
    let block = table.shape[1].clone();
    if shape.len() == 1 {
        shape.push(block);
    } else {
        let what = "the blocks of one row";
        let blocks = reader.constant(indices_item.span, what, &shape[1])?;
        let rows = reader.constant(table_item.span, "the rows of a block", &block)?;
        let Some(rows) = blocks.checked_mul(rows) else {
            let message = "more rows than can be counted";
            reader.error(form.span, message, format!("{blocks} blocks of {rows} rows"));
            return None;
        };
        shape[1] = Extent::Const(rows);
    }
    let dtype = table.dtype;
    shape.push(table.shape[2].clone());
    whole(Op::BlockGather { table: Box::new(table), indices }, dtype, shape, form)
}

pub(super) fn dequantise(reader: &mut Reader, form: Form) -> Option<Value> {
    let [codes_item, scales_item] = form.args else { return None };
    let codes = reader.address(codes_item, "codes", &[2]);
    let scales = reader.address(scales_item, "scales", &[2]);
    let ((codes, code), (scales, scale)) = (codes?, scales?);
    if !matches!(code.dtype, DType::U8 | DType::U4) {
        let label = format!("{} is {}", shown(codes_item), code.dtype);
        let error = Diagnostic::error("codes must be u8 or u4", codes_item.span, label);
        reader.about(&code, error);
        return None;
    }
    reader.same_type(scales_item, ("scales", &scale), ("the result", DType::F32))?;
    let rows = ("rows of scales", &scale.shape[0]);
    reader.same_extent(scales_item.span, rows, ("those of codes", &code.shape[0]))?;
    if scale.shape[1] != Extent::Const(2) {
        let label = format!("{} has {} columns", shown(scales_item), scale.shape[1]);
        let message = "scales must have 2 columns, the scale and the bias of each row";
        reader.about(&scale, Diagnostic::error(message, scales_item.span, label));
        return None;
    }
    whole(Op::Dequantise { codes, scales }, DType::F32, code.shape, form)
}
