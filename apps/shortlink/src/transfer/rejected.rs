//! [`Rejected`]: the file of rejected lines, next to the source. Each line is copied unchanged below a comment with the reason, so
//! that the corrected file can be imported.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A rejected line.
#[derive(Clone, Debug)]
pub(super) struct BadLine {
    /// Its number.
    pub(super) line: u64,
    /// Its offsets in the source.
    pub(super) span: (u64, u64),
    /// The reason.
    pub(super) why: String,
}

/// The file of rejected lines.
pub(super) struct Rejected {
    path: PathBuf,
    source: File,
    header: Option<(u64, u64)>,
    /// The length of the file as of the last checkpoint. Bytes after it belong to a batch that did not commit.
    kept_bytes: u64,
}

impl Rejected {
    /// The file next to `path`, whose open file is `source`. With `kept_bytes` a resumed import appends to the existing file.
    pub(super) fn next_to(path: &Path, source: File, header: Option<(u64, u64)>, kept_bytes: u64) -> Self {
        Self { path: path.with_added_extension("rejected"), source, header, kept_bytes }
    }

    /// Writes `lines` after the kept ones, syncs the file, and returns its new length. [`Rejected::keep`] keeps them; until then
    /// another write replaces them.
    pub(super) fn write(&self, lines: &[BadLine]) -> io::Result<u64> {
        if lines.is_empty() {
            return Ok(self.kept_bytes);
        }
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("cannot write {}: {error}", self.path.display()));
        self.append(lines).map_err(named)
    }

    fn append(&self, lines: &[BadLine]) -> io::Result<u64> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&self.path)?;
        // The file may be shorter than recorded, if the user edited it. What is there stays.
        let start = self.kept_bytes.min(file.metadata()?.len());
        file.set_len(start)?;
        let mut out = BufWriter::new(file);
        out.seek(SeekFrom::Start(start))?;
        if start == 0
            && let Some(header) = self.header
        {
            self.copy(header, &mut out)?;
        }
        for line in lines {
            writeln!(out, "# line {}: {}", line.line, line.why.replace(['\n', '\r'], " "))?;
            self.copy(line.span, &mut out)?;
        }
        let end = out.stream_position()?;
        out.into_inner()?.sync_data()?;
        Ok(end)
    }

    /// Keeps the lines of a committed batch.
    pub(super) fn keep(&mut self, bytes: u64) {
        self.kept_bytes = bytes;
    }

    /// Ends the import. Returns the path of the rejected lines, if there are any, and otherwise removes the file of an earlier run.
    pub(super) fn finish(self) -> io::Result<Option<PathBuf>> {
        if self.kept_bytes > 0 {
            return Ok(Some(self.path));
        }
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(None),
        }
    }

    /// Copies a span of the source in constant memory, and adds a missing line end.
    fn copy(&self, (start, end): (u64, u64), out: &mut impl Write) -> io::Result<()> {
        let mut source = &self.source;
        source.seek(SeekFrom::Start(start))?;
        let mut last = Last(out, b'\n');
        io::copy(&mut source.take(end - start), &mut last)?;
        if last.1 == b'\n' { Ok(()) } else { out.write_all(b"\n") }
    }
}

/// A writer that records the last byte written.
struct Last<'o, W>(&'o mut W, u8);

impl<W: Write> Write for Last<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        if let Some(last) = written.checked_sub(1).and_then(|last| bytes.get(last)) {
            self.1 = *last;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{BadLine, Rejected};
    use std::fs::File;

    fn bad(line: u64, span: (u64, u64), why: &str) -> BadLine {
        BadLine { line, span, why: why.to_owned() }
    }

    #[test]
    fn rejected_lines_are_copied_unchanged_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tsv");
        std::fs::write(&path, "target\nbad one\nbad two\r\nbad three").unwrap();
        let open = |kept| Rejected::next_to(&path, File::open(&path).unwrap(), Some((0, 7)), kept);
        let text = || std::fs::read_to_string(folder.path().join("a.tsv.rejected")).unwrap();

        let mut rejected = open(0);
        assert_eq!(rejected.write(&[]).unwrap(), 0);
        let first = rejected.write(&[bad(2, (7, 15), "why\nso")]).unwrap();
        rejected.keep(first);
        // A repeated batch replaces its lines. The next run truncates those of a batch that did not commit.
        rejected.write(&[bad(3, (15, 24), "lost")]).unwrap();
        rejected.write(&[bad(3, (15, 24), "second")]).unwrap();
        assert_eq!(text(), "target\n# line 2: why so\nbad one\n# line 3: second\nbad two\r\n");
        let mut resumed = open(first);
        let end = resumed.write(&[bad(4, (24, 33), "last")]).unwrap();
        resumed.keep(end);
        assert_eq!(text(), "target\n# line 2: why so\nbad one\n# line 4: last\nbad three\n");
        assert_eq!(resumed.finish().unwrap(), Some(folder.path().join("a.tsv.rejected")));

        assert_eq!(open(0).finish().unwrap(), None);
        assert!(!folder.path().join("a.tsv.rejected").exists(), "a later run had no bad lines");
        assert_eq!(open(0).finish().unwrap(), None);
    }
}
