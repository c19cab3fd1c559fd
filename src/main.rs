//! The `ember-rewrite` command.

fn main() {}
