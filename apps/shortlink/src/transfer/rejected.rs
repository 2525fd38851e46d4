//! [`Rejected`]: the bad lines of a file, kept beside it as they were, each with its reason in a comment above. Mended, the file
//! can be imported itself.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A line to be kept.
#[derive(Clone, Debug)]
pub(super) struct BadLine {
    /// Number.
    pub(super) line: u64,
    /// Where it begins and ends in the source.
    pub(super) span: (u64, u64),
    /// What is wrong with it.
    pub(super) why: String,
}

/// The file of rejected lines.
pub(super) struct Rejected {
    path: PathBuf,
    source: File,
    header: Option<(u64, u64)>,
    /// How long the file is as of the last checkpoint. What is behind it belongs to a batch that never committed.
    kept_bytes: u64,
}

impl Rejected {
    /// Beside `path`, whose open file is `source`; with `kept_bytes` an interrupted import goes on with the file it began.
    pub(super) fn beside(path: &Path, source: File, header: Option<(u64, u64)>, kept_bytes: u64) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push(".rejected");
        Self { path: PathBuf::from(name), source, header, kept_bytes }
    }

    /// Writes `lines` behind those that are kept, down to the disk, and answers how long the file is with them. They are kept
    /// once [`Rejected::keep`] is told so; until then, writing again replaces them.
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
        // Shorter than it was: somebody took the lines away. What is there stays.
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

    /// The batch of the last lines has committed.
    pub(super) fn keep(&mut self, bytes: u64) {
        self.kept_bytes = bytes;
    }

    /// The import is complete: answers where the rejected lines are, if there are any. A file of an earlier run, which is not
    /// true any more, is removed.
    pub(super) fn finish(self) -> io::Result<Option<PathBuf>> {
        if self.kept_bytes > 0 {
            return Ok(Some(self.path));
        }
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(None),
        }
    }

    /// Copies a part of the source, whatever its size, and ends it with a line end.
    fn copy(&self, (start, end): (u64, u64), out: &mut impl Write) -> io::Result<()> {
        let mut source = &self.source;
        source.seek(SeekFrom::Start(start))?;
        let mut last = Last(out, b'\n');
        io::copy(&mut source.take(end - start), &mut last)?;
        if last.1 == b'\n' { Ok(()) } else { out.write_all(b"\n") }
    }
}

/// Remembers the last byte that went through.
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
    fn lines_are_kept_as_they_were_and_only_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tsv");
        std::fs::write(&path, "target\nbad one\nbad two\r\nbad three").unwrap();
        let open = |kept| Rejected::beside(&path, File::open(&path).unwrap(), Some((0, 7)), kept);
        let text = || std::fs::read_to_string(folder.path().join("a.tsv.rejected")).unwrap();

        let mut rejected = open(0);
        assert_eq!(rejected.write(&[]).unwrap(), 0);
        let first = rejected.write(&[bad(2, (7, 15), "why\nso")]).unwrap();
        rejected.keep(first);
        // A batch that is repeated replaces what it wrote; one that never committed is cut off by the next run.
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
