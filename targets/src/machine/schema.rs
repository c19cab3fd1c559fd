//! How a section of a description is declared: a row for each of its numbers, of which the struct, its checks and its
//! reader are made.

/// The schema of one key.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub key: &'static str,
    pub unit: &'static str,
    pub min: f64,
    pub max: f64,
    pub kind: Kind,
}

/// The kind of number that a key admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any number.
    Real,
    /// A whole number.
    Count,
    /// A power of two.
    Power,
    /// True or false.
    Flag,
}

/// Rust types of the schema's kinds. Values have passed the checks, so the conversions are exact.
pub trait Figured {
    fn of(value: f64) -> Self;
}

impl Figured for f64 {
    fn of(value: f64) -> f64 {
        value
    }
}

impl Figured for u64 {
    fn of(value: f64) -> u64 {
        value as u64
    }
}

impl Figured for bool {
    fn of(value: f64) -> bool {
        value != 0.0
    }
}

/// Declares sections, one row per number; the struct, its checks and its reader are generated from the rows.
macro_rules! schema {
    ($($(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $key:ident : $ty:ty, $kind:ident $unit:literal $min:literal, $max:literal;)*
    })*) => {
        $($(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub struct $name { $($(#[$doc])* pub $key: $ty,)* }

        impl $name {
            pub(super) const FIELDS: &'static [Field] = &[$(Field {
                key: stringify!($key),
                unit: $unit,
                min: $min as f64,
                max: $max as f64,
                kind: Kind::$kind,
            },)*];

            pub(super) fn build(get: &dyn Fn(&str) -> f64) -> $name {
                $name { $($key: Figured::of(get(stringify!($key))),)* }
            }
        })*
    };
}
