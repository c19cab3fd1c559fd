//! Text that was written and not laid out yet: lists and words in order.

use ember_values::layout::{Keep, Layout, WIDTH};

/// How deep a text on one line is shown at most.
const DEEPEST: usize = 16;

/// Lists and words in order.
#[derive(Clone, Debug, Default)]
pub struct Text {
    pieces: Vec<Piece>,
    /// Whether there were too many.
    cut: bool,
}

#[derive(Clone, Debug)]
enum Piece {
    Open(Keep),
    Word(String),
    Close,
}

/// A term shares equal parts and its text does not; a text of more words than this is not written.
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

    /// Whether more may be written. What is written no further is not shown.
    pub(super) fn has_room(&mut self) -> bool {
        self.cut |= self.pieces.len() > MOST_WORDS;
        !self.cut
    }

    /// The text on lines of at most 100 columns, where single words allow it.
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

    /// The text on one line of so many characters at most: lists that lie too deep are `…`.
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

    /// The text down to a depth, and whether that is all of it. Stops behind what is too long.
    fn cut_at(&self, deepest: usize, most: usize) -> (String, bool) {
        let (mut text, mut whole, mut depth) = (String::new(), true, 0);
        let mut first = true;
        for piece in &self.pieces {
            // Of a list that lies too deep, only the head is shown.
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

/// A space in front of the next word or list, unless it comes first.
fn space(text: &mut String) {
    if !text.is_empty() && !text.ends_with('(') {
        text.push(' ');
    }
}
