//! [`Format`]: the file formats.

use anyhow::{Result, bail};
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tab-separated values without quoting (no value of a link contains a tab or a line end).
    Tsv,
    /// Comma-separated values (RFC 4180).
    Csv,
    /// One JSON object per line.
    JsonLines,
}

impl Format {
    /// The format of a file by its extension. The extension `.rejected`, which an import appends, is ignored.
    ///
    /// # Errors
    /// The extension is unknown, or that of a compressed file.
    pub fn of(file: &Path) -> Result<Self> {
        let name = file.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let name = name.trim_end_matches(".rejected");
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        if let Some(compression) = COMPRESSED.iter().find(|known| Some(known.ending) == ending) {
            return compression.refuse(&file.display().to_string());
        }
        Ok(match ending {
            Some("tsv" | "tab") => Self::Tsv,
            Some("csv") => Self::Csv,
            Some("jsonl" | "ndjson") => Self::JsonLines,
            _ => {
                bail!("{} does not end in .tsv, .csv, .jsonl or .ndjson: name its format with --format", file.display())
            }
        })
    }

    /// The name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tsv => "tsv",
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }
}

/// A compressed format.
struct Compression {
    magic: &'static [u8],
    ending: &'static str,
    name: &'static str,
    /// The command that decompresses a file.
    command: &'static str,
}

const COMPRESSED: [Compression; 5] = [
    Compression { magic: b"\x1f\x8b", ending: "gz", name: "gzip", command: "gunzip -k" },
    Compression { magic: b"\x28\xb5\x2f\xfd", ending: "zst", name: "zstd", command: "unzstd" },
    Compression { magic: b"\xfd7zXZ\0", ending: "xz", name: "xz", command: "unxz -k" },
    Compression { magic: b"BZh", ending: "bz2", name: "bzip2", command: "bunzip2 -k" },
    Compression { magic: b"PK\x03\x04", ending: "zip", name: "zip", command: "unzip" },
];

impl Compression {
    fn refuse<T>(&self, file: &str) -> Result<T> {
        let Self { name, command, .. } = self;
        bail!("{file} is compressed ({name}): decompress it first ({command} {file})")
    }
}

/// Bytes that are searched for zeros: UTF-16 has one in every ASCII letter, and UTF-8 text has none.
const ZEROS_WITHIN: usize = 64;

/// Refuses a compressed file, and text that is not UTF-8.
pub(super) fn refuse_encoded(beginning: &[u8], name: &str) -> Result<()> {
    if let Some(compression) = COMPRESSED.iter().find(|known| beginning.starts_with(known.magic)) {
        return compression.refuse(name);
    }
    let has_mark = beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff");
    if has_mark || beginning.iter().take(ZEROS_WITHIN).any(|byte| *byte == 0) {
        bail!(
            "{name} is encoded as UTF-16: save it as UTF-8 (\"CSV UTF-8\" in a spreadsheet program), or convert it first (iconv -f \
             UTF-16 -t UTF-8 {name})"
        );
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{Format, refuse_encoded};
    use std::path::Path;

    #[test]
    fn compressed_file_is_refused_with_decompress_command() {
        let refused = refuse_encoded(b"\x1f\x8b\x08\0", "a.tsv").unwrap_err().to_string();
        assert_eq!(refused, "a.tsv is compressed (gzip): decompress it first (gunzip -k a.tsv)");
        let refused = Format::of(Path::new("a.tsv.gz")).unwrap_err().to_string();
        assert_eq!(refused, "a.tsv.gz is compressed (gzip): decompress it first (gunzip -k a.tsv.gz)");
        refuse_encoded(b"target\talias", "a.tsv").unwrap();
        refuse_encoded(b"", "a.tsv").unwrap();
    }

    #[test]
    fn utf_16_text_is_refused_with_remedy() {
        for utf_16 in [&b"\xff\xfet\0a\0"[..], b"\xfe\xff\0t\0a", b"t\0a\0r\0"] {
            let refused = refuse_encoded(utf_16, "a.csv").unwrap_err().to_string();
            assert!(refused.starts_with("a.csv is encoded as UTF-16: save it as UTF-8"), "{refused}");
        }
    }

    #[test]
    fn extension_determines_format() {
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
