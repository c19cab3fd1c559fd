//! The operators and functions of conditions: how tightly they bind, the types that they take, and their results.

/// The type of a part of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number.
    Number,
    /// A value of a categorical parameter.
    Word,
    /// True, which is 1, or false, which is 0.
    Condition,
}

impl Type {
    /// Returns the type with its article.
    pub fn name(self) -> &'static str {
        match self {
            Type::Number => "a number",
            Type::Word => "a word",
            Type::Condition => "a condition",
        }
    }
}

/// An operator or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `or` and `|`, which bind differently.
    Or(Spelling),
    /// `and` and `&`.
    And(Spelling),
    /// `not` and `~`.
    Not(Spelling),
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `//`, which rounds down.
    Quotient,
    /// `%`, the remainder with the sign of the dividend.
    Remainder,
    /// `-` of one operand.
    Negate,
    /// `**`
    Power,
    /// `abs(a)`
    Abs,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
    /// `sqrt(a)`
    Sqrt,
    /// `log2(a)`
    Log2,
    /// `log(a)`
    Log,
    /// `floor(a)`
    Floor,
    /// `ceil(a)`
    Ceil,
}

/// The two spellings of logical operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// A word, which binds less than comparisons.
    Word,
    /// A sign, which binds more than comparisons.
    Sign,
}

use Operator::*;

impl Operator {
    /// Returns the function with this name.
    pub fn function(name: &str) -> Option<Operator> {
        const FUNCTIONS: [(&str, Operator); 8] = [
            ("abs", Abs),
            ("min", Min),
            ("max", Max),
            ("sqrt", Sqrt),
            ("log2", Log2),
            ("log", Log),
            ("floor", Floor),
            ("ceil", Ceil),
        ];
        FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// Returns the operator of one operand that this sign stands for where an operand is wanted.
    pub fn as_prefix(self) -> Option<Operator> {
        match self {
            Subtract => Some(Negate),
            Not(_) => Some(self),
            _ => None,
        }
    }

    /// Returns true if the operator can only stand before its operand.
    pub fn is_prefix(self) -> bool {
        matches!(self, Not(_))
    }

    /// Returns true if the operator joins conditions.
    pub fn is_logical(self) -> bool {
        matches!(self, Or(_) | And(_) | Not(_))
    }

    /// Returns the number of operands.
    pub fn arity(self) -> usize {
        match self {
            Not(_) | Negate | Abs | Sqrt | Log2 | Log | Floor | Ceil => 1,
            _ => 2,
        }
    }

    /// Returns how tightly an operator binds, as in Python.
    fn tightness(self) -> u8 {
        match self {
            Or(Spelling::Word) => 0,
            And(Spelling::Word) => 1,
            Not(Spelling::Word) => 2,
            Equal | Unequal | Less | LessEqual | Greater | GreaterEqual => 3,
            Or(Spelling::Sign) => 4,
            And(Spelling::Sign) => 5,
            Add | Subtract => 6,
            Multiply | Divide | Quotient | Remainder => 7,
            Negate | Not(Spelling::Sign) => 8,
            Power => 9,
            Abs | Min | Max | Sqrt | Log2 | Log | Floor | Ceil => 10,
        }
    }

    /// Returns true if the operator is applied before the next one, which follows its right operand.
    pub fn precedes(self, next: Operator) -> bool {
        self.tightness() > next.tightness()
            || (self.tightness() == next.tightness() && next != Power)
    }

    /// Returns the type of the result; or the first operand that is of a wrong type, and the type that is wanted.
    pub fn result(self, operands: &[Type]) -> Result<Type, (usize, &'static str)> {
        let first_other = |wanted| operands.iter().position(|operand| *operand != wanted);
        match self {
            Or(_) | And(_) | Not(_) => match first_other(Type::Condition) {
                None => Ok(Type::Condition),
                Some(wrong) => Err((wrong, "conditions")),
            },
            Equal | Unequal if operands == [Type::Word, Type::Word] => Ok(Type::Condition),
            _ => match first_other(Type::Number) {
                None if self.tightness() == Equal.tightness() => Ok(Type::Condition),
                None => Ok(Type::Number),
                Some(wrong) => Err((wrong, "numbers")),
            },
        }
    }

    /// Replaces the operands on a stack by the result.
    pub fn apply(self, stack: &mut Vec<f64>) {
        let last = stack.pop().unwrap_or(f64::NAN);
        if self.arity() == 1 {
            stack.push(match self {
                Not(_) => 1.0 - last,
                Negate => -last,
                Abs => last.abs(),
                Sqrt => libm::sqrt(last),
                Log2 => libm::log2(last),
                Log => libm::log(last),
                Floor => libm::floor(last),
                _ => libm::ceil(last),
            });
            return;
        }
        let first = stack.pop().unwrap_or(f64::NAN);
        let truth = |is| if is { 1.0 } else { 0.0 };
        stack.push(match self {
            Or(_) => first.max(last),
            And(_) | Min => first.min(last),
            Equal => truth(first == last),
            Unequal => truth(first != last),
            Less => truth(first < last),
            LessEqual => truth(first <= last),
            Greater => truth(first > last),
            GreaterEqual => truth(first >= last),
            Add => first + last,
            Subtract => first - last,
            Multiply => first * last,
            Divide => first / last,
            Quotient => libm::floor(first / last),
            Remainder => first % last,
            Power => libm::pow(first, last),
            _ => first.max(last),
        });
    }
}
