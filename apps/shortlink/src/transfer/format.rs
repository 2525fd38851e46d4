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

/// Bytes that are searched for the zeros of UTF-16, which has one in every ASCII letter.
const ZEROS_WITHIN: usize = 64;

/// Whether text without a byte order mark is UTF-16: nearly every second byte is zero, and none of the others. A single zero in UTF-8 text
/// is an invalid character of its line.
fn is_utf_16(beginning: &[u8]) -> bool {
    let beginning = &beginning[..beginning.len().min(ZEROS_WITHIN) & !1];
    let zeros = |first: usize| beginning.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let (most, fewest) = (even.max(odd), even.min(odd));
    most >= 2 && fewest == 0 && most * 4 >= beginning.len() / 2 * 3
}

/// Refuses a compressed file, and text that is not UTF-8.
pub(super) fn refuse_encoded(beginning: &[u8], name: &str) -> Result<()> {
    if let Some(compression) = COMPRESSED.iter().find(|known| beginning.starts_with(known.magic)) {
        return compression.refuse(name);
    }
    let has_mark = beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff");
    if has_mark || is_utf_16(beginning) {
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

    // shows: hazard S9
    #[test]
    fn compressed_file_is_refused_with_decompress_command() {
        let refused = refuse_encoded(b"\x1f\x8b\x08\0", "a.tsv").unwrap_err().to_string();
        assert_eq!(refused, "a.tsv is compressed (gzip): decompress it first (gunzip -k a.tsv)");
        let refused = Format::of(Path::new("a.tsv.gz")).unwrap_err().to_string();
        assert_eq!(refused, "a.tsv.gz is compressed (gzip): decompress it first (gunzip -k a.tsv.gz)");
        refuse_encoded(b"target\talias", "a.tsv").unwrap();
        refuse_encoded(b"", "a.tsv").unwrap();
    }

    // shows: hazard T11
    #[test]
    fn utf_16_text_is_refused_with_remedy() {
        for utf_16 in [&b"\xff\xfet\0a\0"[..], b"\xfe\xff\0t\0a", b"t\0a\0r\0", b"\0t\0a\0r\0g\x04\x10"] {
            let refused = refuse_encoded(utf_16, "a.csv").unwrap_err().to_string();
            assert!(refused.starts_with("a.csv is encoded as UTF-16: save it as UTF-8"), "{refused}");
        }
        // Regression: a file with one zero in its first line was refused as a whole.
        for utf_8 in [&b"target\nhttps://example.com/\0\n"[..], b"\0", b"\0a", b"target\0", b"t\0a\0rget\tcode\n"] {
            refuse_encoded(utf_8, "a.csv").unwrap();
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
