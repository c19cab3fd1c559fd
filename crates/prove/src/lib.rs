//! Rules tested and proved, and programs proved equal. Knows nothing of the search for fast programs.

pub mod chains;
pub mod equiv;
pub mod soundness;
pub mod verify;
