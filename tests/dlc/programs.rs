//! The hand-written programs read, verify, and print to what reads back.

use ember_rewrite::diagnostic::Sources;
use ember_rewrite::dlc_text::DlcText;
use ember_rewrite::load::load;
use ember_rewrite::render;
use ember_targets::print::print;
use ember_targets::verify::Limits;
use std::path::Path;

#[test]
fn hand_written_programs_verify() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let mut sources = Sources::default();
        let show = |sources: &Sources, errors: Vec<_>| render::render(sources, &errors, false);
        let file = load(&mut sources, &path).expect("loads");
        let text = DlcText::read(&sources, file)
            .unwrap_or_else(|errors| panic!("{}", show(&sources, errors)));
        let program = text
            .verify(&Limits::NONE)
            .unwrap_or_else(|errors| panic!("{}", show(&sources, errors)));
        let again = sources.add("<printed>", print(&program));
        let again = DlcText::read(&sources, again)
            .unwrap_or_else(|errors| panic!("{}", show(&sources, errors)));
        assert_eq!(&again.program, program.program());
        assert!(path.file_stem().is_some_and(|name| name.to_str() == Some(&program.name)));
        count += 1;
    }
    assert!(count >= 4);
}
