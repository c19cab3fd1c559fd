//! Files inside a zip archive, read within limits. What the archive says about lengths is not believed.

use crate::error::Problem;
use crate::limits::MEMBERS;
use std::io::{Cursor, Read, Write};
use zip::CompressionMethod;
use zip::ZipArchive;
use zip::read::{ArchiveOffset, Config};
use zip::write::{SimpleFileOptions, ZipWriter};

/// An archive whose files are in one folder.
pub(crate) struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    folder: String,
    /// The names of the files, in the order of the archive; a name that is not text has none.
    names: Vec<String>,
}

impl<'a> Archive<'a> {
    /// Opens an archive.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Archive<'a>, Problem> {
        // Nothing stands before the archive, as it might in a program that unpacks itself.
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let zip = ZipArchive::with_config(config, Cursor::new(bytes))?;
        if zip.len() > MEMBERS {
            let (length, limit) = (zip.len() as u64, MEMBERS as u64);
            let what = "the list of the archive's files".to_owned();
            return Err(Problem::TooLarge { what, length, limit });
        }
        let names: Vec<String> =
            zip.file_names().filter_map(|name| Some(name.ok()?.into_owned())).collect();
        let folder = names.first().and_then(|name| name.split_once('/'));
        let folder = folder.map(|(folder, _)| format!("{folder}/")).unwrap_or_default();
        Ok(Archive { zip, folder, names })
    }

    /// Returns true if the archive has this file.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{}{name}", self.folder)).is_some()
    }

    /// Returns the files of a folder that end so, in the order of their names.
    pub(crate) fn within(&self, folder: &str, ending: &str) -> Vec<String> {
        let names = self.names.iter().filter_map(|name| name.strip_prefix(&self.folder));
        let fits = |name: &&str| name.starts_with(folder) && name.ends_with(ending);
        let mut names: Vec<String> = names.filter(fits).map(str::to_owned).collect();
        names.sort();
        names
    }

    /// Reads a file of at most so many bytes.
    pub(crate) fn read(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, Problem> {
        let path = format!("{}{name}", self.folder);
        let at = self.zip.index_for_name(&path).ok_or_else(|| Problem::Member(name.to_owned()))?;
        let file = self.zip.by_index(at)?;
        let length = file.size();
        let too_large = |length| Problem::TooLarge { what: format!("`{name}`"), length, limit };
        if length > limit {
            return Err(too_large(length));
        }
        let mut bytes = Vec::new();
        let damaged = |reason| Problem::Damaged { member: name.to_owned(), reason };
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(damaged)?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        Ok(bytes)
    }
}

/// Writes an archive with one file, which is not compressed. An archive in memory is written without errors; if not, it
/// is empty.
pub(crate) fn with_file(name: &str, content: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let written = zip.start_file(name, options).is_ok() && zip.write_all(content).is_ok();
    let done = zip.finish().map(Cursor::into_inner);
    done.ok().filter(|_| written).unwrap_or_default()
}
