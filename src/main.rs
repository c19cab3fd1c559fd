//! The `ember-rewrite` command.

fn main() -> std::process::ExitCode {
    ember_rewrite::cli::main()
}
