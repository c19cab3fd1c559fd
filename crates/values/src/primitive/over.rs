//! Replacing operands by operands of another type, for forms and their parts.

use super::Typing;
use super::form::Early;

/// A value over operands of a type, which operands of another type can replace.
pub(super) trait Over<T>: Sized {
    /// The value over operands of another type.
    type To<U>;

    /// Returns the value over other operands; `None` if a required operand has no counterpart.
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<Self::To<U>>;
}

/// Declares enums over operands, with [`Over`]. A field after a semicolon is no operand.
macro_rules! over_operands {
    ($($(#[$doc:meta])* pub enum $name:ident<$t:ident> {
        $($(#[$about:meta])* $variant:ident
            $({ $($(#[$each:meta])* $field:ident: $of:ty),* $(; $(#[$fixed:meta])* $data:ident: $is:ty)? $(,)? })?
            $(($($part:ident: $ty:ty),*))?,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name<$t> {
            $($(#[$about])* $variant
                $({ $($(#[$each])* $field: $of,)* $($(#[$fixed])* $data: $is,)? })?
                $(($($ty),*))?,)*
        }

        impl<$t> Over<$t> for $name<$t> {
            type To<U> = $name<U>;

            #[inline]
            fn over<U>(self, of: &impl Fn($t) -> Option<U>) -> Option<$name<U>> {
                Some(match self {$(
                    $name::$variant $({ $($field,)* $($data)? })? $(($($part),*))? => {
                        $name::$variant
                            $({ $($field: <$of as Over<$t>>::over($field, of)?,)* $($data)? })?
                            $(($(<$ty as Over<$t>>::over($part, of)?),*))?
                    }
                )*})
            }
        }
    )*};
}

pub(super) use over_operands;

impl<T> Over<T> for T {
    type To<U> = U;

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<U> {
        of(self)
    }
}

impl<T> Over<T> for [T; 2] {
    type To<U> = [U; 2];

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<[U; 2]> {
        let [a, b] = self;
        Some([of(a)?, of(b)?])
    }
}

impl<T> Over<T> for [T; 3] {
    type To<U> = [U; 3];

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<[U; 3]> {
        let [a, b, c] = self;
        Some([of(a)?, of(b)?, of(c)?])
    }
}

/// An operand that some rows have; where a row has it, it is required.
impl<T> Over<T> for Option<T> {
    type To<U> = Option<U>;

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<Option<U>> {
        match self {
            None => Some(None),
            Some(operand) => of(operand).map(Some),
        }
    }
}

impl<T> Over<T> for Option<[T; 3]> {
    type To<U> = Option<[U; 3]>;

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<Option<[U; 3]>> {
        match self {
            None => Some(None),
            Some(operands) => operands.over(of).map(Some),
        }
    }
}

impl<T> Over<T> for Option<Early<T>> {
    type To<U> = Option<Early<U>>;

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<Option<Early<U>>> {
        match self {
            None => Some(None),
            Some(early) => early.over(of).map(Some),
        }
    }
}

impl<T> Over<T> for Option<Typing<T>> {
    type To<U> = Option<Typing<U>>;

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<Option<Typing<U>>> {
        match self {
            None => Some(None),
            Some(typing) => typing.over(of).map(Some),
        }
    }
}

impl<T> Over<T> for Typing<T> {
    type To<U> = Typing<U>;

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<Typing<U>> {
        Typing::over(self, of)
    }
}

/// Operands that are optional.
impl<T> Over<T> for [Option<T>; 3] {
    type To<U> = [Option<U>; 3];

    #[inline]
    fn over<U>(self, of: &impl Fn(T) -> Option<U>) -> Option<[Option<U>; 3]> {
        Some(self.map(|operand| operand.and_then(of)))
    }
}
