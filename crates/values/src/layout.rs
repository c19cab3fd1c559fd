//! Layout of S-expressions on lines of bounded width. The algorithm is iterative, so that it prints any depth.
//!
//! This module handles parentheses and words only; the caller decides what to print and in which order.

/// The width in columns that the text aims to stay within.
pub const WIDTH: usize = 100;

/// The maximum indentation in columns. Deeper lists are not indented further, so that the text stays linear in the
/// expression.
const MAX_INDENT: usize = 60;

/// The number of items that a list keeps on the line of its parenthesis when it does not fit on one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Exactly this many items.
    Items(usize),
    /// At most this many items, as far as they fit.
    AtMost(usize),
    /// The leading items that fit.
    Fitting,
}

#[derive(Clone, Debug)]
enum Piece {
    Open(Keep),
    Atom(String),
    Close,
}

/// A sequence of S-expressions in writing order.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    pieces: Vec<Piece>,
    /// The pieces whose lines are of interest, in order.
    marks: Vec<usize>,
}

/// A list that is being written.
struct Open {
    flat: bool,
    indent: usize,
    items: usize,
    keep: Keep,
    broken: bool,
}

impl Layout {
    /// Starts a list.
    pub fn open(&mut self, keep: Keep) {
        self.pieces.push(Piece::Open(keep));
    }

    /// Starts a list with its first word.
    pub fn head(&mut self, keep: Keep, word: &str) {
        self.open(keep);
        self.atom(word);
    }

    /// Writes a word, which must read back as one (see [`quote`]).
    pub fn atom(&mut self, word: impl Into<String>) {
        self.pieces.push(Piece::Atom(word.into()));
    }

    /// Marks the expression that is written next, for [`Layout::marked`].
    pub fn mark(&mut self) {
        self.marks.push(self.pieces.len());
    }

    /// Ends the innermost list.
    pub fn close(&mut self) {
        self.pieces.push(Piece::Close);
    }

    /// Returns the text. Each top-level expression starts on a new line. Lines are at most `width` columns wide, unless
    /// a single word is wider.
    pub fn render(&self, width: usize) -> String {
        self.marked(width).0
    }

    /// Returns the text as [`Layout::render`] does, and the index of the line in which each marked expression starts.
    pub fn marked(&self, width: usize) -> (String, Vec<usize>) {
        let widths = self.widths();
        let (mut text, mut starts) = (String::new(), Vec::new());
        let mut marks = self.marks.iter().peekable();
        let mut line = 0;
        let mut open: Vec<Open> = Vec::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            if matches!(piece, Piece::Close) {
                text.push(')');
                open.pop();
                if open.is_empty() {
                    text.push('\n');
                    line = text.len();
                }
                continue;
            }
            let indent = open.last().map_or(0, |list| list.indent + 2).min(MAX_INDENT);
            if let Some(list) = open.last_mut() {
                let fits = text.len() - line + 1 + widths[at] <= width;
                list.broken |= !list.flat
                    && match list.keep {
                        Keep::Items(n) => list.items >= n,
                        Keep::AtMost(n) => list.items >= n || (list.items > 0 && !fits),
                        Keep::Fitting => list.items > 0 && !fits,
                    };
                if list.broken && list.items > 0 {
                    text.push('\n');
                    line = text.len();
                    text.extend(std::iter::repeat_n(' ', indent));
                } else if list.items > 0 {
                    text.push(' ');
                }
                list.items += 1;
            }
            starts.extend(marks.next_if(|mark| **mark == at).map(|_| text.len()));
            match piece {
                Piece::Atom(word) => text.push_str(word),
                Piece::Open(keep) => {
                    let flat = open.last().is_some_and(|list| list.flat)
                        || text.len() - line + widths[at] <= width;
                    text.push('(');
                    open.push(Open { flat, indent, items: 0, keep: *keep, broken: false });
                }
                Piece::Close => {}
            }
            if open.is_empty() {
                text.push('\n');
                line = text.len();
            }
        }
        let ends: Vec<usize> = text.match_indices('\n').map(|(end, _)| end).collect();
        let lines = starts.iter().map(|start| ends.partition_point(|end| end < start));
        let lines = lines.collect();
        (text, lines)
    }

    /// Returns, for every piece that starts an expression, the bytes that the expression takes on one line together
    /// with the parentheses that close after it.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.pieces.len()];
        // The end of each open list, scanning from the back: bytes written so far, counted from the end.
        let mut ends: Vec<(usize, usize)> = Vec::new();
        let (mut written, mut closing) = (0, 0);
        for (at, piece) in self.pieces.iter().enumerate().rev() {
            match piece {
                Piece::Close => {
                    ends.push((written, closing));
                    written += 1;
                    closing += 1;
                }
                Piece::Atom(word) => {
                    widths[at] = word.len() + closing;
                    written += word.len() + 1;
                    closing = 0;
                }
                Piece::Open(_) => {
                    let (end, after) = ends.pop().unwrap_or_default();
                    // The last item counted a space after it, but that space is not written.
                    written += 1;
                    widths[at] = written - end - 1 + after;
                    closing = 0;
                }
            }
        }
        widths
    }
}

/// Returns a name in a form that the reader accepts: bare if it is one word that is not a number, else in quotes.
pub fn quote(name: &str) -> String {
    let bare = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit() || "-+.:".contains(c))
        && name.chars().all(|c| c.is_alphanumeric() || "_-+*/.%?!<>=@$^&'#~:".contains(c));
    if bare {
        return name.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in name.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(layout: &mut Layout, keep: Keep, words: &[&str]) {
        layout.open(keep);
        words.iter().for_each(|w| layout.atom(*w));
        layout.close();
    }

    #[test]
    fn fits_on_a_line_to_the_last_parenthesis() {
        let mut layout = Layout::default();
        layout.head(Keep::Items(1), "a");
        list(&mut layout, Keep::Items(1), &["bb", "cc"]);
        layout.close();
        assert_eq!(layout.render(11), "(a (bb cc))\n");
        assert_eq!(layout.render(10), "(a\n  (bb cc))\n");
        assert_eq!(layout.render(8), "(a\n  (bb\n    cc))\n");
    }

    #[test]
    fn keeps_leading_items() {
        let mut layout = Layout::default();
        layout.head(Keep::Fitting, "for");
        layout.atom("i");
        list(&mut layout, Keep::Fitting, &["lo", "0"]);
        list(&mut layout, Keep::Fitting, &["body", "of", "it"]);
        layout.close();
        assert_eq!(layout.render(15), "(for i (lo 0)\n  (body of it))\n");
    }

    #[test]
    fn deep_expressions_stay_linear() {
        let mut layout = Layout::default();
        for _ in 0..100_000 {
            layout.head(Keep::Items(1), "f");
        }
        for _ in 0..100_000 {
            layout.close();
        }
        assert!(layout.render(100).len() < 10_000_000);
    }
}
