//! Tests of descriptions: they are read, inherit, and are refused with a reason.

use super::*;

#[test]
fn the_default_description_reads_and_marks_every_figure_of_the_access_unit() {
    let machine = Machine::parse(TMU_CPU).unwrap();
    assert_eq!(machine.name, "tmu-cpu");
    assert_eq!((machine.access.lanes, machine.access.outstanding), (8, 128));
    let refreshing = 260.0 / 3900.0;
    assert!((machine.share_bytes_per_cycle() - 7.8125 * (1.0 - refreshing)).abs() < 1e-12);
    let expected: usize = SECTIONS.iter().map(|(_, fields)| fields.len()).sum();
    assert_eq!(machine.figures.len(), expected);
    for figure in &machine.figures {
        assert!(!figure.source.is_empty());
        assert!(figure.estimated || figure.section != "access", "{}", figure.key);
    }
}

#[test]
fn every_error_is_reported_at_once_with_its_place_and_a_fix() {
    let text = TMU_CPU
        .replace("lanes = { value = 8", "lanes = { value = 300")
        .replace("line_bytes = { value = 64", "line_bytes = { value = 48")
        .replace("issue_width = { value = 4", "isue_width = { value = 4")
        .replace("rob = { value = 224, unit = \"uops\"", "rob = { value = 224, unit = \"bytes\"")
        .replace("[llc]", "[lcl]");
    let errors = Machine::parse(&text).unwrap_err();
    let all: Vec<String> = errors.iter().map(|e| e.message.clone()).collect();
    let find = |part: &str| {
        errors.iter().find(|e| e.message.contains(part)).unwrap_or_else(|| panic!("{all:#?}"))
    };
    assert!(find("`lanes` is 300").range.is_some());
    assert!(find("`line_bytes` is 48").message.contains("power of two"));
    assert_eq!(find("unknown key `isue_width`").help, "did you mean `issue_width`?");
    assert_eq!(find("unknown section `lcl`").help, "did you mean `llc`?");
    let unit = find("unit of `rob`");
    let at = unit.range.clone().unwrap();
    assert!(text[at].contains("bytes"));
}

#[test]
fn broken_text_gives_errors_not_panics() {
    for text in ["", "[", "name = 3", "core = 1", "[core]\nrob = {}", "[core]\nrob = 1e400"] {
        assert!(Machine::parse(text).is_err(), "{text}");
    }
    let text = TMU_CPU.replace("value = 524288", "value = 524287");
    let errors = Machine::parse(&text).unwrap_err();
    assert!(errors[0].message.contains("whole sets"), "{}", errors[0].message);
}

#[test]
fn a_larger_mesh_is_farther_and_a_smaller_one_no_nearer() {
    let machine = Machine::parse(TMU_CPU).unwrap();
    let farther: Vec<u64> = [1, 8, 16, 64].map(|cores| machine.farther(cores)).to_vec();
    assert_eq!(farther, [0, 0, 3, 14]);
}

#[test]
fn capabilities_are_true_or_false() {
    for wrong in ["2", "1", "0.0", "\"yes\""] {
        let text = TMU_CPU
            .replace("prefetch = { value = false", &format!("prefetch = {{ value = {wrong}"));
        let errors = Machine::parse(&text).unwrap_err();
        assert_eq!(errors[0].message, "the value of `prefetch` is not true or false");
    }
    let published = Machine::parse(TMU_CPU).unwrap().capabilities();
    assert!(!published.has(Capability::Prefetch) && published.has(Capability::Hints));
    assert!(Machine::plus().unwrap().capabilities().has(Capability::Prefetch));
}

#[test]
fn what_is_peculiar_to_a_maker_is_taken_over() {
    let shipped = |name: &str, parent: Option<&Machine>| {
        let (_, text) = SHIPPED.iter().find(|(own, _)| *own == name).unwrap();
        Machine::parse_from(text, parent).unwrap()
    };
    let cpu = shipped(HERE, Some(&shipped("tmu-cpu", None)));
    for (maker, name) in MAKERS {
        let mut machine = cpu.clone();
        machine.made_by(maker).unwrap();
        assert_eq!(machine.name, HERE);
        assert_eq!(machine.core, shipped(name, Some(&cpu)).core);
        assert_ne!(machine.core, cpu.core);
    }
    for unknown in ["GenuineIntel", ""] {
        let mut machine = cpu.clone();
        machine.made_by(unknown).unwrap();
        assert_eq!(machine, cpu);
    }
}
