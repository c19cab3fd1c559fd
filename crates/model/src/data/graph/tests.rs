use super::lines::Lines;
use super::*;

fn edges(graph: &Graph, seed: u64) -> Vec<(u32, u32)> {
    let rows: Vec<_> = graph.generate(seed).expect("a graph").rows().collect();
    assert_eq!(rows.len() as u64, graph.nodes);
    (0u32..).zip(rows).flat_map(|(row, to)| to.into_iter().map(move |to| (row, to))).collect()
}

fn market(text: &str) -> Result<Csr, Problem> {
    matrix_market::read(Lines::new(text.as_bytes()))
}

fn list(text: &str, options: EdgeListOptions) -> Result<Csr, Problem> {
    edge_list::read(Lines::new(text.as_bytes()), &options)
}

#[test]
fn graphs_have_the_edges_asked_for_and_no_others() {
    for name in graph_names() {
        let graph = known_graph(name, 0.002).expect(name);
        let drawn = edges(&graph, 1);
        assert_eq!(drawn.len() as u64, graph.edges, "{name}");
        assert!(drawn.iter().all(|(_, to)| u64::from(*to) < graph.nodes), "{name}");
        assert_eq!(drawn, edges(&graph, 1), "{name}");
        assert_ne!(drawn, edges(&graph, 2), "{name}");
    }
}

#[test]
fn r_mat_degrees_are_skewed_and_its_columns_too() {
    let graph = known_graph("ogbn-arxiv", 1.0).expect("known");
    let drawn = edges(&graph, 1);
    for ends in [
        drawn.iter().map(|(from, _)| *from).collect::<Vec<_>>(),
        drawn.iter().map(|(_, to)| *to).collect(),
    ] {
        let mut degrees = vec![0u64; graph.nodes as usize];
        ends.into_iter().for_each(|node| degrees[node as usize] += 1);
        degrees.sort_unstable_by(|a, b| b.cmp(a));
        let top: u64 = degrees[..degrees.len() / 100].iter().sum();
        let share = top as f64 / graph.edges as f64;
        // A row's 18 bits are 1 with a probability of 0.24. The likeliest hundredth of the rows has at most three ones,
        // plus a few rows with four, and holds two fifths of the edges.
        assert!((0.38..0.46).contains(&share), "the first hundredth has {share}");
        assert!(degrees.last() == Some(&0), "some nodes are isolated");
    }
}

/// Checks that columns drawn given their row have the joint distribution of the model.
#[test]
fn quadrants_have_their_shares() {
    let graph = Graph { nodes: 2, edges: 100_000, directed: true, model: GraphModel::RMat };
    let drawn = edges(&graph, 1);
    let mut shares = [0.0f64; 4];
    drawn.iter().for_each(|(from, to)| shares[(from * 2 + to) as usize] += 1e-5);
    // Random numbering may swap the two nodes and so reverse the shares.
    if shares[3] > shares[0] {
        shares.reverse();
    }
    for (got, wanted) in shares.into_iter().zip([0.57, 0.19, 0.19, 0.05]) {
        assert!((got - wanted).abs() < 0.01, "{shares:?}");
    }
}

#[test]
fn a_grid_joins_neighbours_only() {
    let graph = known_graph("roadNet-CA", 0.005).expect("known");
    let matrix = graph.generate(1).expect("a graph").matrix(u64::MAX);
    assert_eq!(matrix.columns.len() as u64, 2 * graph.edges);
    let width = graph.nodes.isqrt() as i64;
    let mut total = 0;
    for (row, bounds) in matrix.offsets.windows(2).enumerate() {
        let columns = &matrix.columns[bounds[0] as usize..bounds[1] as usize];
        assert!(columns.len() <= 4);
        for column in columns {
            let apart = (i64::from(*column) - row as i64).abs();
            assert!(apart == 1 || apart == width, "{row} to {column}");
        }
        total += columns.len();
    }
    let mean = total as f64 / graph.nodes as f64;
    assert!((mean - 2.0 * 2_766_607.0 / 1_965_206.0).abs() < 0.01, "mean degree {mean}");
    let full = Graph { nodes: 7, edges: 8, directed: false, model: GraphModel::Grid };
    assert_eq!(edges(&full, 1).len(), 8);
    assert!(Graph { edges: 9, ..full }.generate(1).is_err());
}

#[test]
fn undirected_graphs_are_symmetric() {
    let graph = known_graph("com-Youtube", 0.001).expect("known");
    let made = graph.generate(1).expect("a graph");
    let matrix = made.matrix(u64::MAX);
    let mut entries: Vec<(u32, u32)> = Vec::new();
    for (row, bounds) in (0u32..).zip(matrix.offsets.windows(2)) {
        let columns = &matrix.columns[bounds[0] as usize..bounds[1] as usize];
        assert!(columns.is_sorted());
        entries.extend(columns.iter().map(|column| (row, *column)));
    }
    let mut mirrored: Vec<_> = entries.iter().map(|(a, b)| (*b, *a)).collect();
    mirrored.sort_unstable();
    assert_eq!(entries, mirrored);
    let first = made.matrix(100);
    assert_eq!(first.offsets, matrix.offsets[..101]);
    assert_eq!(first.columns, matrix.columns[..first.columns.len()]);
    let mut cut = matrix.clone();
    cut.truncate(100);
    assert_eq!(cut, first);
}

#[test]
fn graphs_without_nodes_or_edges() {
    for model in [GraphModel::RMat, GraphModel::Grid] {
        for nodes in [0, 1, 3] {
            let graph = Graph { nodes, edges: 0, directed: false, model };
            let matrix = graph.generate(1).expect("a graph").matrix(u64::MAX);
            assert_eq!((matrix.rows(), matrix.columns.len()), (nodes, 0));
        }
    }
    let loops = Graph { nodes: 1, edges: 3, directed: true, model: GraphModel::RMat };
    assert_eq!(edges(&loops, 1), [(0, 0); 3]);
    assert!(Graph { nodes: 0, ..loops }.generate(1).is_err());
    assert!(Graph { nodes: 1 << 40, ..loops }.generate(1).is_err());
}

#[test]
fn matrices_are_read_by_row_and_column() {
    let text = "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 4\n\
                2 4 0.5\n1 1 -1\n2 1 3e2\n2 4 1\n";
    let matrix = market(text).expect("well formed");
    assert_eq!(matrix.offsets, [0, 1, 4, 4]);
    assert_eq!(matrix.columns, [0, 0, 3, 3]);
    assert_eq!(matrix.values, Some(vec![-1.0, 300.0, 0.5, 1.0]));
    assert_eq!((matrix.rows(), matrix.width), (3, 4));
    let text = "%%MatrixMarket MATRIX coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n";
    let matrix = market(text).expect("well formed");
    assert_eq!((matrix.offsets, matrix.columns), (vec![0, 2, 3], vec![0, 1, 0]));
    assert_eq!(matrix.values, None);
    let empty = market("%%MatrixMarket matrix coordinate integer general\n0 0 0\n").expect("empty");
    assert_eq!((empty.rows(), empty.width), (0, 0));
}

#[test]
fn lists_of_edges_count_from_their_base() {
    let text = "# Nodes: 4\n0\t2\n\n3,1\n2 2\r\n0 2\n";
    let matrix = list(text, EdgeListOptions::default()).expect("well formed");
    assert_eq!((matrix.offsets.as_slice(), matrix.width), ([0, 2, 2, 3, 4].as_slice(), 4));
    assert_eq!(matrix.columns, [2, 2, 2, 1]);
    let options = EdgeListOptions { base: 1, nodes: Some(5), undirected: true };
    let matrix = list("1 2 0.5\n3 3 2\n", options).expect("well formed");
    assert_eq!((matrix.offsets, matrix.columns), (vec![0, 1, 2, 3, 3, 3], vec![1, 0, 2]));
    assert_eq!(matrix.values, Some(vec![0.5, 0.5, 2.0]));
    assert_eq!(list("", EdgeListOptions::default()).expect("empty").rows(), 0);
}

/// Checks that reading ends with a graph or with an error that names the line, for any contents of a file.
#[test]
fn damaged_files_are_reported() {
    const HEAD: &str = "%%MatrixMarket matrix coordinate real general\n";
    let cases = [
        ("", "line 1: not the header"),
        ("%%MatrixMarket matrix array real general\n", "`array` matrices are not read"),
        ("%%MatrixMarket matrix coordinate complex general\n", "`complex` matrices"),
        ("%%MatrixMarket matrix coordinate real hermitian\n", "`hermitian` matrices"),
        (HEAD, "ends before its size line"),
        (&format!("{HEAD}3 3\n"), "line 2: not a size line"),
        (&format!("{HEAD}3 3 -1\n"), "line 2: not a size line"),
        (&format!("{HEAD}3 3 99999999999999999999\n"), "line 2: not a size line"),
        (&format!("{HEAD}3 3 1000000000000\n"), "line 2: 3 rows"),
        (&format!("{HEAD}9999999999 3 1\n"), "line 2: 9999999999 rows"),
        (&format!("{HEAD}3 3 2\n1 1 1\n"), "ends after 1 of 2 entries"),
        (&format!("{HEAD}3 3 1\n1 1 1\n2 2 2\n"), "line 4: an entry more than the 1"),
        (&format!("{HEAD}3 3 1\n0 1 1\n"), "line 3: row 0, but Matrix Market counts from 1"),
        (&format!("{HEAD}3 3 1\n1 4 1\n"), "line 3: column 4 of 3 columns"),
        (&format!("{HEAD}3 3 1\n1 x 1\n"), "line 3: not a column: `x`"),
        (&format!("{HEAD}3 3 1\n1 1\n"), "line 3: ends before its value"),
        (&format!("{HEAD}3 3 1\n1\n"), "line 3: ends before its column"),
        (&format!("{HEAD}3 3 1\n1 1 a\n"), "line 3: not a number: `a`"),
        (&format!("{HEAD}3 3 1\n1 1 1 1\n"), "line 3: more than an entry"),
        (
            "%%MatrixMarket matrix coordinate pattern symmetric\n2 3 0\n",
            "line 2: a symmetric matrix of 2 rows",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n1 2\n",
            "line 3: above the diagonal",
        ),
        (&format!("{HEAD}{}\n", "1".repeat(5000)), "line 2: longer than 4096 bytes"),
    ];
    for (text, expected) in cases {
        let problem = market(text).expect_err(text);
        assert!(problem.what.contains(expected), "{text:?}: {problem}");
    }
    let bytes: &[u8] = b"0 1\n\xff 2\n";
    let problem = edge_list::read(Lines::new(bytes), &EdgeListOptions::default());
    assert_eq!(problem, Err(Problem::new("line 2: not text")));
    let one = EdgeListOptions { base: 1, ..EdgeListOptions::default() };
    let four = EdgeListOptions { nodes: Some(4), ..EdgeListOptions::default() };
    let cases = [
        ("0 1\n", one, "line 1: node 0, but the list counts from 1"),
        ("1 4\n", four, "line 1: node 4, but the last of 4 is 3"),
        ("1\n", four, "line 1: not a pair of nodes"),
        ("1 x\n", four, "line 1: not a node: `x`"),
        ("0 1 2 3\n", four, "line 1: more than an edge"),
        ("0 1\n1 2 0.5\n", four, "line 2: values at some edges only"),
        ("0 1 1\n1 2\n", four, "line 2: values at some edges only"),
        ("0 99999999999\n", EdgeListOptions::default(), "line 1: node 99999999999 is above"),
    ];
    for (text, options, expected) in cases {
        let problem = list(text, options).expect_err(text);
        assert!(problem.what.contains(expected), "{text:?}: {problem}");
    }
}

#[test]
fn triples_are_skewed_and_inside_the_graph() {
    let known = known_triples("biokg", 0.01).expect("known");
    let drawn: Vec<[u64; 3]> = known.generate(1).collect();
    assert_eq!(drawn.len() as u64, known.triples);
    let inside =
        |[h, r, t]: &[u64; 3]| *h < known.entities && *r < known.relations && *t < known.entities;
    assert!(drawn.iter().all(inside));
    let most = drawn.iter().filter(|[_, r, _]| *r == 0).count() as f64 / drawn.len() as f64;
    let harmonic: f64 = (1..=known.relations).map(|k| 1.0 / k as f64).sum();
    assert!((most - 1.0 / harmonic).abs() < 0.02, "the first relation has {most}");
    assert_eq!(drawn, known.generate(1).collect::<Vec<_>>());
}
