//! Writes generated data: lines of numbers, or arrays in the `.npy` format.

use super::error;
use clap::ValueEnum;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::suggest;
use std::fmt::Arguments;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Numbers between tabs.
    Tsv,
    /// Matrix Market.
    Mtx,
    /// NumPy arrays of 64-bit integers.
    Npy,
}

/// The destination and format of the data.
pub(super) struct Outputs<'a> {
    pub(super) format: Format,
    path: Option<&'a Path>,
}

impl<'a> Outputs<'a> {
    /// Returns the requested format, else that of the file's name, which must be among `known`.
    pub(super) fn of(
        path: &'a Option<PathBuf>,
        format: Option<Format>,
        known: &[Format],
    ) -> Checked<Outputs<'a>> {
        let path = path.as_deref();
        let ending = path.and_then(Path::extension).and_then(|e| e.to_str());
        let named = ending.and_then(|e| Format::from_str(e, true).ok());
        let format = format.or(named).unwrap_or(Format::Tsv);
        if !known.contains(&format) {
            let names = known.iter().map(|f| f.name());
            let message = format!("this cannot be written as {}", format.name());
            return Err(error(message, Some(format!("known: {}", suggest::list(names)))));
        }
        if format == Format::Npy && path.is_none() {
            let help = "give `-o FILE`".to_owned();
            return Err(error("npy arrays go to files, not to standard output", Some(help)));
        }
        Ok(Outputs { format, path })
    }

    /// Writes text to the file or to standard output.
    pub(super) fn text(&self, write: impl FnOnce(&mut Out) -> Checked<()>) -> Checked<()> {
        match self.path {
            Some(path) => to_file(path.to_owned(), write),
            None => {
                let to = Box::new(std::io::stdout().lock());
                Out { to: BufWriter::new(to), path: None, closed: false }.finish(write)
            }
        }
    }

    /// Writes an array of 64-bit integers to `NAME.PART.npy`, or to the file itself if there is no part. The format is
    /// NumPy Enhancement Proposal 1, version 1.
    pub(super) fn array(
        &self,
        part: &str,
        shape: &[u64],
        write: impl FnOnce(&mut Out) -> Checked<()>,
    ) -> Checked<()> {
        let Some(path) = self.path else { return Ok(()) };
        let path = match part {
            "" => path.to_owned(),
            _ => path.with_extension(format!("{part}.npy")),
        };
        to_file(path, |out| {
            let extents: String = shape.iter().map(|n| format!("{n}, ")).collect();
            let extents =
                if shape.len() == 1 { extents.trim_end() } else { extents.trim_end_matches(", ") };
            let text =
                format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({extents}), }}");
            // The magic word, version and length take 10 bytes, the line end 1; the total is a multiple of 64.
            let length = (text.len() + 11).next_multiple_of(64) - 10;
            out.bytes(b"\x93NUMPY\x01\x00")?;
            out.bytes(&(length as u16).to_le_bytes())?;
            out.bytes(format!("{text:<width$}\n", width = length - 1).as_bytes())?;
            write(out)
        })
    }
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Tsv => "tsv",
            Format::Mtx => "mtx",
            Format::Npy => "npy",
        }
    }
}

fn to_file(path: PathBuf, write: impl FnOnce(&mut Out) -> Checked<()>) -> Checked<()> {
    let file = File::create(&path).map_err(|e| cannot_write(&path, &e))?;
    Out { to: BufWriter::new(Box::new(file)), path: Some(path), closed: false }.finish(write)
}

fn cannot_write(path: &Path, e: &std::io::Error) -> Vec<Diagnostic> {
    error(format!("{}: cannot write: {e}", path.display()), None)
}

/// Applies a function to each item, up to the first error.
pub(super) fn each<T>(
    items: impl IntoIterator<Item = T>,
    act: impl FnMut(T) -> Checked<()>,
) -> Checked<()> {
    items.into_iter().try_for_each(act)
}

/// A file being written, or standard output.
pub(super) struct Out {
    to: BufWriter<Box<dyn Write>>,
    path: Option<PathBuf>,
    /// True if the reader of standard output has closed it.
    closed: bool,
}

impl Out {
    fn finish(mut self, write: impl FnOnce(&mut Out) -> Checked<()>) -> Checked<()> {
        let written = write(&mut self).and_then(|()| {
            let flushed = self.to.flush();
            self.check(flushed)
        });
        if self.closed { Ok(()) } else { written }
    }

    /// Writes bytes.
    fn bytes(&mut self, bytes: &[u8]) -> Checked<()> {
        let written = self.to.write_all(bytes);
        self.check(written)
    }

    /// Writes an element of an array.
    pub(super) fn number(&mut self, n: i64) -> Checked<()> {
        self.bytes(&n.to_le_bytes())
    }

    /// Writes numbers as one line, separated by tabs.
    pub(super) fn line(&mut self, numbers: impl IntoIterator<Item = i64>) -> Checked<()> {
        for (i, n) in numbers.into_iter().enumerate() {
            if i > 0 {
                self.bytes(b"\t")?;
            }
            let written = write!(self.to, "{n}");
            self.check(written)?;
        }
        self.bytes(b"\n")
    }

    /// Writes a line of words.
    pub(super) fn words(&mut self, words: Arguments<'_>) -> Checked<()> {
        let written = writeln!(self.to, "{words}");
        self.check(written)
    }

    fn check(&mut self, written: std::io::Result<()>) -> Checked<()> {
        match (written, &self.path) {
            (Ok(()), _) => Ok(()),
            (Err(e), Some(path)) => Err(cannot_write(path, &e)),
            // A reader that has seen enough closes the pipe; that ends the work without an error.
            (Err(e), None) if e.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Err(Vec::new())
            }
            (Err(e), None) => Err(error(format!("standard output: cannot write: {e}"), None)),
        }
    }
}
