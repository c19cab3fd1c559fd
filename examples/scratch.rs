use ember_rewrite::{*, diagnostic::Sources, cost::*, search::*, facts::*};
use ember_targets::machine::*;
fn main() {
    let mut s = Sources::default();
    let args: Vec<String> = std::env::args().collect();
    let (b, w) = match rules::load(&mut s, &["rules".into()]) { Ok(x) => x, Err(e) => { print!("{}", render::render(&s, &e, false)); return } };
    print!("{}", render::render(&s, &w, false));
    let f = load::load(&mut s, args[1].as_ref()).unwrap();
    let m = match model::Model::parse(&s, f) { Ok(x) => x, Err(e) => { print!("{}", render::render(&s, &e, false)); return } };
    let inst = m.instantiate(None).unwrap();
    let d = m.declarations(&Default::default());
    let machine = Machine::parse(TMU_CPU).unwrap();
    let facts = Facts::new(&d.tensors, &d.sizes, b.signature.binders(), VectorUnit { simd_bytes: machine.core.simd_bytes, registers: machine.core.vector_registers });
    let rates = Rates::of(&machine);
    let compiled = b.compile();
    let store = interpret::Store { tensors: inst.tensors.clone(), sizes: inst.sizes.iter().map(|(k, v)| (k.clone(), *v as i64)).collect() };
    let stats = workload::Statistics::new(&m, &inst, &store);
    for name in &args[2..] {
        let sch = b.schedule(name).unwrap();
        let t = std::time::Instant::now();
        let found = Search { book: &b, rules: &compiled, schedule: sch, without: None, exact: rules::Exactness::Bitwise, goal: if name == "coupled" {Goal::Coupled} else {Goal::Decoupled}, facts: &facts, statistics: &stats, rates: &rates, limits: saturate::Limits { iterations: 100, nodes: 100_000 }, best: 6 }.run(&m.root_term(), &mut |_| ());
        println!("== {name}: {} nodes {} classes {} iters {:?} sat {:?} ext {:?} total {:?} candidates {}", found.nodes, found.classes, found.iterations, found.stop, found.saturate_time, found.extract_time, t.elapsed(), found.candidates.len());
        for c in found.candidates.iter().take(6) {
            let ctx = decouple::ModelContext { name: m.name.clone(), sizes: d.sizes.clone(), tensors: d.tensors.clone() };
            match if name == "coupled" { coupled::coupled(&c.term, &ctx) } else { decouple::decouple(&c.term, &ctx) } { Ok(p) => {
                let (tensors, sizes) = inst.bind(&p).unwrap();
                let t = std::time::Instant::now();
                match ember_sim::run(&p, &machine, ember_sim::Bindings { tensors, sizes }, Default::default()) {
                  Ok(o) => { let r = reference::evaluate(&m, &inst).unwrap(); let ok = (0..r.len()).all(|i| r.get(i) == o.tensors.last().unwrap().get(i));
                     println!("  SIM {} cycles valid {ok} in {:?} dram {:?} queue {}", o.stats.cycles, t.elapsed(), o.stats.dram_bytes, o.stats.queue_bytes); }
                  Err(e) => println!("SIM {e}"),
                } }
                Err(e) => println!("{e:?}") }
 println!("{} {:?}", c.estimate, c.cost); if std::env::var("T").is_ok() { println!("{}", print_term::print_term(&c.term)); } }
        if let Some(c) = found.candidates.first() {
            let ctx = decouple::ModelContext { name: m.name.clone(), sizes: d.sizes.clone(), tensors: d.tensors.clone() };
            match if name == "coupled" { coupled::coupled(&c.term, &ctx) } else { decouple::decouple(&c.term, &ctx) } { Ok(p) => println!("{}", ember_targets::print::print(&p)), Err(e) => println!("{e:?}") }
        }
    }
}
