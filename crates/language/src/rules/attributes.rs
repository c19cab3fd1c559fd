//! The attributes of declarations: the properties that a dialect declares for a sort or an operator beyond its sorts.
//!
//! One table lists them all, for the parser, the editor and the documentation. An attribute is a claim, which `verify`
//! tests against the operator's meaning. This file reads attributes and resolves no names.

use super::syntax::{Section, Word as Item, word};
use super::words::Word;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::sexp::Sexp;
use crate::suggest::unknown;
use ember_values::primitive::{Ask, Price, Row, Typing, Width};

/// The attributes that declare an operator's meaning.
pub(super) const ATTRIBUTES: &[Word] = &[
    Word {
        kind: "key",
        name: ":means",
        usage: ":means PRIMITIVE",
        doc: "The primitive that it is; its properties are those of the primitive's row.",
    },
    Word {
        kind: "key",
        name: ":erases",
        usage: ":erases OPERATOR",
        doc: "The operator of one processor that it does the same as, with operands of the same names.",
    },
    Word {
        kind: "key",
        name: ":counterpart",
        usage: ":counterpart (BOUNDARY NAME) …",
        doc: "Its forms on the units: BOUNDARY of it is NAME of its operands behind boundaries.",
    },
    Word {
        kind: "key",
        name: ":type",
        usage: ":type i64|OPERAND|(named OPERAND)",
        doc: "Its element type: i64, that of an operand, or the one that an operand names.",
    },
    Word {
        kind: "key",
        name: ":lanes",
        usage: ":lanes 1|OPERAND|(count OPERAND)",
        doc: "Its lanes: one, as many as an operand has, or the number that an operand is.",
    },
    Word {
        kind: "key",
        name: ":reads",
        usage: ":reads OPERAND …",
        doc: "The addresses whose elements it reads; none behind it for none.",
    },
    Word {
        kind: "key",
        name: ":writes",
        usage: ":writes OPERAND …",
        doc: "The addresses whose elements it writes; none behind it for none.",
    },
    Word {
        kind: "key",
        name: ":lanewise",
        usage: ":lanewise",
        doc: "Each lane is computed from the same lane of its operands alone.",
    },
    Word {
        kind: "key",
        name: ":rank",
        usage: ":rank NUMBER",
        doc: "The rank of the tensor that it is, if it is always the same.",
    },
    Word {
        kind: "key",
        name: ":asks",
        usage: ":asks (OPERAND i64|any|scalar|lanes|0|1|2|3|+1|-1|offsets|scratch|closed …) …",
        doc: "Demands on operands: type, lanes, rank and part; else they are as the result is.",
    },
    Word {
        kind: "key",
        name: ":cost",
        usage: ":cost nothing|operation|exponential|folded",
        doc: "What it costs by itself; what is folded stands in no program.",
    },
];

/// The attributes of an operator, unresolved.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    pub means: Option<Item>,
    pub erases: Option<Item>,
    pub counterparts: Vec<(Item, Item)>,
    pub typing: Option<Typing<Item>>,
    pub width: Option<Width<Item>>,
    pub reads: Option<Vec<Item>>,
    pub writes: Option<Vec<Item>>,
    pub lanewise: bool,
    pub rank: Option<usize>,
    pub asks: Vec<(Item, Ask)>,
    pub price: Option<Price>,
}

impl Attributes {
    /// Reads one attribute; returns false if the keyword is not an attribute.
    pub fn read(&mut self, section: &Section) -> Result<bool, Diagnostic> {
        match section.key.text.as_str() {
            ":means" => {
                let name = one(section)?;
                if Row::named(&name.text).is_none() {
                    let names = ember_values::primitive::rows().map(|row| row.name);
                    return Err(unknown("primitive", &name.text, name.span, names)
                        .with_code(Code::UnknownPrimitive));
                }
                self.means = Some(name);
            }
            ":erases" => self.erases = Some(one(section)?),
            ":counterpart" => {
                for item in section.items {
                    let pair = match item.list() {
                        Some([boundary, name]) => as_word(boundary).zip(as_word(name)),
                        _ => None,
                    };
                    self.counterparts.push(pair.ok_or_else(|| malformed(section))?);
                }
            }
            ":type" => {
                self.typing = Some(match (named(section, "named"), one(section)) {
                    (Some(operand), _) => Typing::Named(operand),
                    (None, Ok(word)) if word.text == "i64" => Typing::I64,
                    (None, Ok(word)) => Typing::Of(word),
                    (None, Err(error)) => return Err(error),
                });
            }
            ":lanes" => {
                self.width = Some(match (named(section, "count"), one(section)) {
                    (Some(operand), _) => Width::Count(operand),
                    (None, Ok(word)) if word.text == "1" => Width::One,
                    (None, Ok(word)) => Width::Of(word),
                    (None, Err(error)) => return Err(error),
                });
            }
            ":reads" => self.reads = Some(words(section)?),
            ":writes" => self.writes = Some(words(section)?),
            ":lanewise" => {
                if !section.items.is_empty() {
                    return Err(malformed(section));
                }
                self.lanewise = true;
            }
            ":rank" => {
                let rank = one(section)?.text.parse();
                self.rank = Some(rank.map_err(|_| malformed(section))?);
            }
            ":asks" => {
                for item in section.items {
                    let Some((operand, words)) = item.list().and_then(<[Sexp]>::split_first) else {
                        return Err(malformed(section));
                    };
                    let operand = as_word(operand).ok_or_else(|| malformed(section))?;
                    let ask = words.iter().try_fold(Ask::default(), |ask, word| {
                        let word = as_word(word).ok_or_else(|| malformed(section))?;
                        ask.and(&word.text).ok_or_else(|| malformed(section))
                    })?;
                    self.asks.push((operand, ask));
                }
            }
            ":cost" => {
                let word = one(section)?;
                let known = Price::WORDS.iter().find(|(name, _)| *name == word.text);
                let names = Price::WORDS.iter().map(|(name, _)| *name);
                let price = known.ok_or_else(|| {
                    unknown("cost", &word.text, word.span, names).with_code(Code::UnknownCost)
                })?;
                self.price = Some(price.1);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn as_word(item: &Sexp) -> Option<Item> {
    item.atom().map(|text| Item { text: text.to_owned(), span: item.span })
}

/// Returns the single word after a keyword.
fn one(section: &Section) -> Result<Item, Diagnostic> {
    match section.items {
        [item] => as_word(item).ok_or_else(|| malformed(section)),
        _ => Err(malformed(section)),
    }
}

/// Returns the words after a keyword.
fn words(section: &Section) -> Result<Vec<Item>, Diagnostic> {
    section.items.iter().map(|item| word(Some(item), "an operand", item.span)).collect()
}

/// Returns the operand of `(WORD OPERAND)`.
fn named(section: &Section, head: &str) -> Option<Item> {
    let [item] = section.items else { return None };
    let [operand] = item.items(head)? else { return None };
    as_word(operand)
}

fn malformed(section: &Section) -> Diagnostic {
    let key = &section.key;
    let known = ATTRIBUTES.iter().find(|attribute| attribute.name == key.text);
    let usage = known.map_or(key.text.as_str(), |attribute| attribute.usage);
    Diagnostic::error(format!("`{}` has the wrong shape", key.text), key.span, "in this attribute")
        .with_code(Code::WrongShape)
        .with_help(format!("write {usage}"))
}
