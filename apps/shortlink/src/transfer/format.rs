//! [`Format`]: how links are written in a file.

use anyhow::{Result, bail};
use std::path::Path;

/// How links are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Columns separated by tabs; nothing is quoted (no value of a link contains a tab or a line end).
    Tsv,
    /// Columns separated by commas, quoted where needed (RFC 4180).
    Csv,
    /// One JSON object a line.
    JsonLines,
}

impl Format {
    /// Tells the format by the file's ending. `.rejected`, which an import adds, is looked through.
    ///
    /// # Errors
    /// One sentence if the ending says nothing.
    pub fn of(file: &Path) -> Result<Self> {
        let name = file.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let name = name.trim_end_matches(".rejected");
        Ok(match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("tsv" | "tab") => Self::Tsv,
            Some("csv") => Self::Csv,
            Some("jsonl" | "ndjson") => Self::JsonLines,
            _ => {
                bail!("{} ends in none of .tsv, .csv, .jsonl and .ndjson; say what it is with --format", file.display())
            }
        })
    }

    /// As the command line spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tsv => "tsv",
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }
}

/// The beginnings of compressed files, what they are called, and what unpacks them.
const COMPRESSED: [(&[u8], &str, &str); 5] = [
    (b"\x1f\x8b", "gzip", "gunzip -k"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"\xfd7zXZ\0", "xz", "unxz -k"),
    (b"BZh", "bzip2", "bunzip2 -k"),
    (b"PK\x03\x04", "zip", "unzip"),
];

/// Refuses a file that begins as a compressed one does.
pub(super) fn refuse_compressed(beginning: &[u8], name: &str) -> Result<()> {
    match COMPRESSED.iter().find(|(magic, _, _)| beginning.starts_with(magic)) {
        Some((_, kind, unpack)) => bail!("{name} is compressed ({kind}): unpack it first ({unpack} {name})"),
        None => Ok(()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{Format, refuse_compressed};
    use std::path::Path;

    #[test]
    fn a_compressed_file_is_refused_with_what_unpacks_it() {
        let refused = refuse_compressed(b"\x1f\x8b\x08\0", "a.tsv").unwrap_err().to_string();
        assert_eq!(refused, "a.tsv is compressed (gzip): unpack it first (gunzip -k a.tsv)");
        refuse_compressed(b"target\talias", "a.tsv").unwrap();
        refuse_compressed(b"", "a.tsv").unwrap();
    }

    #[test]
    fn the_ending_tells() {
        for (name, format) in [
            ("a.tsv", Format::Tsv),
            ("a.b.CSV", Format::Csv),
            ("links.jsonl", Format::JsonLines),
            ("links.ndjson", Format::JsonLines),
            ("links.tsv.rejected", Format::Tsv),
        ] {
            assert_eq!(Format::of(Path::new(name)).unwrap(), format);
        }
        for name in ["a.txt", "tsv", "", "-"] {
            assert!(Format::of(Path::new(name)).unwrap_err().to_string().contains("--format"), "{name:?}");
        }
    }
}
