//! Text before layout: lists and words in order.

use ember_values::layout::{Keep, Layout, WIDTH};

/// The greatest depth of nesting shown in a text on one line.
const DEEPEST: usize = 16;

/// Lists and words in order.
#[derive(Clone, Debug, Default)]
pub struct Text {
    pieces: Vec<Piece>,
    /// True if the text was cut because it had too many pieces.
    cut: bool,
}

#[derive(Clone, Debug)]
enum Piece {
    Open(Keep),
    Word(String),
    Close,
}

/// The limit on the pieces of a text. A term shares equal parts and its text repeats them; a longer text is not
/// written.
const MOST_WORDS: usize = 4_000_000;

impl Text {
    pub(super) fn open(&mut self, keep: Keep, head: &str) {
        self.pieces.push(Piece::Open(keep));
        self.word(head.to_owned());
    }

    pub(super) fn word(&mut self, word: String) {
        self.pieces.push(Piece::Word(word));
    }

    pub(super) fn close(&mut self) {
        self.pieces.push(Piece::Close);
    }

    /// Returns true if more pieces may be written. A text that exceeded the limit is not shown.
    pub(super) fn has_room(&mut self) -> bool {
        self.cut |= self.pieces.len() > MOST_WORDS;
        !self.cut
    }

    /// Returns the text on lines of at most 100 columns, as far as single words allow.
    pub fn lines(&self) -> String {
        if self.cut {
            return format!("; more than the {MOST_WORDS} words that are printed\n");
        }
        let mut layout = Layout::default();
        for piece in &self.pieces {
            match piece {
                Piece::Open(keep) => layout.open(*keep),
                Piece::Word(word) => layout.atom(word.clone()),
                Piece::Close => layout.close(),
            }
        }
        layout.render(WIDTH)
    }

    /// Returns the text on one line of at most `most` characters; lists that are too deep are shown as `…`.
    pub fn line(&self, most: usize) -> String {
        let mut shown = String::new();
        for deepest in 0..DEEPEST {
            let (text, whole) = self.cut_at(deepest, most);
            if text.chars().count() > most {
                break;
            }
            shown = text;
            if whole {
                break;
            }
        }
        shown
    }

    /// Returns the text down to a depth, and true if nothing was hidden. Stops once the text is longer than `most`.
    fn cut_at(&self, deepest: usize, most: usize) -> (String, bool) {
        let (mut text, mut whole, mut depth) = (String::new(), true, 0);
        let mut first = true;
        for piece in &self.pieces {
            // A list that is too deep shows only its head.
            let hidden = depth > deepest + 1 || (depth == deepest + 1 && !first);
            match piece {
                Piece::Open(_) => {
                    if !hidden {
                        space(&mut text);
                        text.push('(');
                    }
                    whole &= !hidden;
                    depth += 1;
                    first = true;
                    continue;
                }
                Piece::Word(word) if !hidden => {
                    space(&mut text);
                    text.push_str(word);
                }
                Piece::Word(_) => whole = false,
                Piece::Close => {
                    if depth == deepest + 1 {
                        text.push_str(" …)");
                    } else if depth <= deepest {
                        text.push(')');
                    }
                    depth -= 1;
                }
            }
            first = false;
            if text.len() > 4 * most {
                break;
            }
        }
        (text, whole)
    }
}

/// Appends a space before the next word or list, unless it is the first.
fn space(text: &mut String) {
    if !text.is_empty() && !text.ends_with('(') {
        text.push(' ');
    }
}
