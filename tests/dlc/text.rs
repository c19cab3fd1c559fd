//! Tests of the text form: printed text reads back, and all errors are reported at once.

use crate::random::RandomProgram;
use ember_compile::dlc_text::DlcText;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_targets::print::print;
use ember_targets::verify::{Limits, verify};
use quickcheck::{Arbitrary, Gen, QuickCheck};

fn read(text: &str) -> Result<DlcText, Vec<String>> {
    let mut sources = Sources::new(Disk);
    let file = sources.add("<test>", text);
    DlcText::read(&sources, file).map_err(|errors| {
        errors
            .into_iter()
            .map(|e| {
                let at = e.at.map(|(span, _)| text[span.range()].to_owned()).unwrap_or_default();
                let help = e.help.map(|h| format!(" [{h}]")).unwrap_or_default();
                format!("{} @ {at}{help}", e.message)
            })
            .collect()
    })
}

#[test]
fn what_is_printed_reads_back() {
    fn holds(program: RandomProgram) -> bool {
        let text = print(&program.0);
        match read(&text) {
            Ok(read) if read.program == program.0 => true,
            Ok(read) => panic!("{text}\nreads as\n{}", print(&read.program)),
            Err(errors) => panic!("{errors:#?}\n{text}"),
        }
    }
    let seeded = Gen::from_size_and_seed(100, 1);
    QuickCheck::new().rng(seeded).tests(1_000).quickcheck(holds as fn(RandomProgram) -> bool);
}

#[test]
fn the_empty_program_reads_back() {
    let program = ember_targets::dlc::Program::default();
    assert_eq!(read(&print(&program)).expect("reads").program, program);
}

/// Returns a program with the given forms in its access engine and compute loop.
fn program(access: &str, compute: &str) -> String {
    format!(
        "(dlc test (sizes n) (tensor t f32 (n)) (tensor_out o f32 (n))
           (tensor q u8 (n)) (tensor h f16 (n n)) (tensor w f32 (n 4)) (tensor_out p f32 (n n))
           (configure_access_engine
             (const_stream zero i64 0) (size_stream n n) (new_tu u zero n 1) (get_ind_var i u)
             (mem_stream x f32 (at t i) temporal)
             {access}
             (start (traverse u)))
           (compute_loop (register r f32) (register k i64) (register b u8) {compute}))"
    )
}

#[test]
fn every_mistake_has_its_message() {
    let cases: &[(&str, &str, &str)] = &[
        ("(mem_stream y f32 (at t j) temporal)", "", "unknown stream `j` @ j"),
        (
            "(mem_stream y f32 (at tt i) temporal)",
            "",
            "unknown tensor `tt` @ tt [known: `h`, `o`, `p`, `q`, `t`, `w`]",
        ),
        ("(mem_stream y f32 (at t i) temporl)", "", "unknown temporal hint `temporl`"),
        ("(mem_streem y f32 (at t i) temporal)", "", "[did you mean `mem_stream`?]"),
        ("(mem_stream y f32 (at t i))", "", "`mem_stream` takes 4 items"),
        ("(mem_stream y f64 (at t i) temporal)", "", "declared type is f64, and f32 is needed"),
        ("(mem_stream y f32 (at t i i) temporal)", "", "`t` has 1 dimensions, and 2 indices"),
        ("(mem_stream y f32 (at t x) temporal)", "", "stream `x` is f32, and i64 is needed"),
        ("(mem_stream y f32x4 (at t (lanes 0 n i)) temporal)", "", "no lanes @ 0"),
        ("(mem_stream y f32y (at t i) temporal)", "", "unknown element type `f32y`"),
        ("(mem_stream y f32x0 (at t i) temporal)", "", "expected a type @ f32x0"),
        ("(alu_stream y i64 add i z) (const_stream z i64 1)", "", "uses `z` before its definition"),
        ("(alu_stream y i64 plus i n)", "", "unknown operation `plus`"),
        ("(alu_stream x f32 add x x)", "", "stream `x` is defined twice @ x"),
        ("(alu_stream y f32 add x i)", "", "combines f32 with i64"),
        ("(const_stream c f32 zero)", "", "expected a number of type f32 @ zero"),
        ("(size_stream m m)", "", "unknown size `m`"),
        ("(get_ind_var j v)", "", "unknown unit `v`"),
        ("(new_tu v zero n 0)", "", "a step of less than 1"),
        ("(new_tu v zero n 1)", "", "unit `v`: is traversed in 0 places"),
        ("(on u it)", "", "unknown event `it`"),
        ("(on u ite) (on u ite)", "", "event `ite` of unit `u` is given twice"),
        (
            "(on u ite (register_operand xx))",
            "",
            "unknown stream `xx` @ xx [known: `i`, `n`, `x`, `zero`]",
        ),
        ("(on u ite (register_callback c))", "", "unknown case `c`"),
        ("(on u ite (push x))", "", "unknown action `push`"),
        ("(on u ite (barrier x))", "", "`barrier` takes 0 items"),
        ("(on u beg (traverse u))", "", "traverses at `beg`"),
        ("(start)", "", "`start` is given twice"),
        ("", "(main (set q 1))", "unknown register `q`"),
        ("", "(main (set k 1.5))", "a number without its type @ 1.5 [write `(const f32 1.5)`]"),
        ("", "(main (set k (const f32 1.0)))", "the value of `k` is f32, and i64 is needed"),
        ("", "(main (set k (add k r)))", "`add` combines i64 with f32"),
        ("", "(main (set k (size m)))", "unknown size `m`"),
        ("", "(main (store (at t 0) r))", "writes tensor `t`, which is read-only"),
        ("", "(main (for r 0 1 1))", "loop variable `r` is f32, and i64 is needed"),
        ("", "(main (for k 0 1 -1))", "a step of less than 1"),
        ("", "(main (for k 0 1))", "`for` takes at least 4 items"),
        ("", "(main (walk w k 0 1 1))", "unknown unit `w`"),
        ("", "(main (sett k 0))", "unknown statement `sett` @ sett [did you mean `set`?]"),
        ("", "(main (set k (summ k k)))", "unknown value `summ`"),
        ("", "(main) (main)", "`main` is given twice"),
        ("", "(case c)", "case `c`: no callback runs this case"),
        (
            "(mem_stream y u8 (at q i) temporal) (alu_stream z u8 add y y)",
            "",
            "`add` on u8, a type that is only stored: cast it first",
        ),
        ("(const_stream c u4 16)", "", "expected a number of type u4 @ 16"),
        ("(const_stream c u8 -1)", "", "expected a number of type u8 @ -1"),
        ("(const_stream c bf16 x)", "", "expected a number of type bf16 @ x"),
        ("", "(main (set b (add b b)))", "`add` on u8, a type that is only stored"),
        ("", "(main (set b (fold max b)))", "`fold` on u8, a type that is only stored"),
        ("", "(main (set k (exp k)))", "`exp` of i64, and it takes f32 or f64"),
        ("", "(main (set r (sqrt (load (at h 0 0)))))", "`sqrt` of f16, and it takes f32 or f64"),
        ("", "(main (set r (fold sub r)))", "folds by `sub`, whose order matters"),
        ("", "(main (set r (fold add (broadcast 4 k))))", "the value of `r` is i64, and f32 is"),
        ("", "(main (set r (fold sum r)))", "unknown operation `sum`"),
        ("", "(main (set r (exp r r)))", "`exp` takes 1 items @ (exp r r) [write `(exp VALUE)`]"),
        ("", "(main (matmul p w))", "`matmul` takes 3 items"),
        ("", "(main (matmul pp w w))", "unknown tensor `pp`"),
        ("", "(main (matmul p w w))", "multiplies (n 4) by (n 4), which do not match"),
        ("", "(main (matmul p w t))", "multiplies (n 4) by (n), which do not match"),
        ("", "(main (matmul_t o w w))", "`o` is (n), the product (n n)"),
        ("", "(main (matmul_t w w w))", "writes tensor `w`, which is read-only"),
        ("", "(main (matmul p p w))", "multiplies `p` into itself"),
        ("", "(main (matmul_t p h h))", "multiplies f16 by f16 into f32, and f32 or f64"),
        ("", "(case)", "`case` takes at least 1 items"),
    ];
    for (access, compute, expected) in cases {
        let text = program(access, compute);
        let errors = read(&text).expect_err(expected);
        assert!(errors.iter().any(|e| e.contains(expected)), "{expected}\n{errors:#?}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let text = program("(get_ind_var j v) (size_stream m m)", "(main (set q 1) (set k zz))");
    assert_eq!(read(&text).expect_err("four mistakes").len(), 4);
}

#[test]
fn texts_that_are_no_program() {
    for text in ["", "(", "x", "(scf.for)", "(dlc)", "(dlc a) (dlc b)", "(dlc (x))", "(dlc a b)"] {
        assert!(read(text).is_err(), "{text}");
    }
    let deep = format!("{}0{}", "(add 1 ".repeat(9_000), ")".repeat(9_000));
    let errors = read(&program("", &format!("(main (set k {deep}))"))).expect_err("too deep");
    assert!(errors[0].contains("nests deeper than 256"), "{}", errors[0]);
    let deep = format!("{}{}", "(for k 0 1 1 ".repeat(9_000), ")".repeat(9_000));
    let errors = read(&program("", &format!("(main {deep})"))).expect_err("too deep");
    assert!(errors[0].contains("nests deeper than 256"), "{}", errors[0]);
}

#[test]
fn damaged_programs_are_refused_and_never_panic() {
    let mut random = Gen::from_size_and_seed(100, 2);
    let mut below = |n: usize| usize::arbitrary(&mut random) % n.max(1);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/programs/");
    let paper = std::fs::read_to_string(format!("{folder}bag_sum_paper.dlc")).expect("the program");
    let expert =
        std::fs::read_to_string(format!("{folder}bag_max_expert_64.dlc")).expect("the program");
    let mut accepted = 0;
    for round in 0..2_000 {
        let text = if round % 2 == 0 { &paper } else { &expert };
        let text = &text[text.find("(dlc").expect("a program")..];
        // One or two words or parentheses are dropped, doubled or exchanged.
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let mut words: Vec<&str> = spaced.split_whitespace().collect();
        for _ in 0..1 + below(2) {
            let (a, b) = (below(words.len()), below(words.len()));
            match below(3) {
                0 => drop(words.remove(a)),
                1 => words.insert(a, words[a]),
                _ => words.swap(a, b),
            }
        }
        if let Ok(program) = crate::bag::check(&words.join(" ")) {
            accepted += 1;
            // An accepted program may compute something else, but its halves fit together.
            crate::runs::ends(&program);
        }
    }
    assert!(accepted < 200, "{accepted} of 2000 damaged programs are still right");
}

#[test]
fn programs_whose_halves_do_not_match_are_refused_and_never_panic() {
    let mut random = Gen::from_size_and_seed(100, 3);
    let mut accepted = 0;
    for _ in 0..1_000 {
        let program = RandomProgram::arbitrary(&mut random).0;
        let verified = verify(program, &Limits::NONE);
        accepted += usize::from(verified.is_ok());
    }
    assert!(accepted < 900, "{accepted}");
}
