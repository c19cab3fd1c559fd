//! Builds the command anew when a file changes that it carries inside.

fn main() {
    for folder in ["rules", "targets", "programs"] {
        println!("cargo:rerun-if-changed={folder}");
    }
}
