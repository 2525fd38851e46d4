//! [`Lines`]: reads lines of bounded length.

use sha2::{Digest, Sha256};
use std::io::{BufRead, Result};

/// The longest line that is read into memory, four times the longest row of a link.
pub(super) const LINE_BYTES_MAX: usize = 64 * 1024;

/// The longest line end, CR LF.
const END_BYTES_MAX: usize = 2;

/// The UTF-8 byte order mark.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line.
#[derive(Debug)]
pub(super) struct Line {
    /// Line number, from 1.
    pub(super) number: u64,
    /// Offset of its first byte.
    pub(super) start: u64,
    /// Offset of the next line.
    pub(super) end: u64,
    /// Its bytes without the line end; `None` if it is longer than [`LINE_BYTES_MAX`].
    pub(super) text: Option<Vec<u8>>,
    /// SHA-256 of all its bytes.
    pub(super) digest: [u8; 32],
}

/// Reads lines of bounded length.
pub(super) struct Lines<R> {
    input: R,
    number: u64,
    offset: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, number: 0, offset: 0 }
    }

    /// The next line; `None` at the end. A line ends in LF, CR LF or CR; the last one may lack a line end. A byte order mark at the
    /// beginning of the file, which spreadsheet programs write, belongs to no line.
    pub(super) fn next(&mut self) -> Result<Option<Line>> {
        if self.offset == 0 && self.input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
            self.input.consume(BYTE_ORDER_MARK.len());
            self.offset = BYTE_ORDER_MARK.len() as u64;
        }
        let start = self.offset;
        let mut hash = Sha256::new();
        let mut text = Some(Vec::new());
        let mut end = None;
        while end != Some(b'\n') {
            let buffer = self.input.fill_buf()?;
            let length = match end {
                // Only LF belongs to the line after its CR.
                Some(_) => usize::from(buffer.first() == Some(&b'\n')),
                None => buffer.iter().position(|byte| is_end(*byte)).map_or(buffer.len(), |at| at + 1),
            };
            let Some(last) = length.checked_sub(1) else { break };
            let part = &buffer[..length];
            end = part.get(last).copied().filter(|byte| is_end(*byte));
            hash.update(part);
            text = text.filter(|text| text.len() + length <= LINE_BYTES_MAX + END_BYTES_MAX);
            if let Some(text) = &mut text {
                text.extend_from_slice(part);
            }
            self.input.consume(length);
            self.offset += u64::try_from(length).unwrap_or(u64::MAX);
        }
        if self.offset == start {
            return Ok(None);
        }
        self.number += 1;
        if let Some(text) = &mut text {
            for end in [b'\n', b'\r'] {
                text.pop_if(|last| *last == end);
            }
        }
        let text = text.filter(|text| text.len() <= LINE_BYTES_MAX);
        Ok(Some(Line { number: self.number, start, end: self.offset, text, digest: hash.finalize().into() }))
    }
}

fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{LINE_BYTES_MAX, Lines};
    use std::io::BufReader;

    #[test]
    fn lines_end_in_lf_crlf_or_end_of_file() {
        let mut lines = Lines::new(&b"one\r\n\ntwo\nlast"[..]);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            seen.push((line.number, line.start, line.end, String::from_utf8(line.text.unwrap()).unwrap()));
        }
        let expected = [(1, 0, 5, "one"), (2, 5, 6, ""), (3, 6, 10, "two"), (4, 10, 14, "last")];
        assert_eq!(seen, expected.map(|(number, start, end, text)| (number, start, end, text.to_owned())));
    }

    /// Regression: a file with CR line ends was one line, its header, and imported nothing. A byte order mark was part of the first
    /// line, and made it invalid in the file of rejected lines.
    // shows: hazard S27
    #[test]
    fn lines_end_in_cr_and_begin_after_the_byte_order_mark() {
        for capacity in [1, 4, 1000] {
            let text = &b"\xef\xbb\xbfone\rtwo\r\nthree\r\rlast\r"[..];
            // The mark must arrive in one piece, as it does from a file.
            let mut lines = Lines::new(BufReader::with_capacity(capacity.max(3), text));
            let mut seen = Vec::new();
            while let Some(line) = lines.next().unwrap() {
                seen.push((line.start, line.end, String::from_utf8(line.text.unwrap()).unwrap()));
            }
            let expected = [(3, 7, "one"), (7, 12, "two"), (12, 18, "three"), (18, 19, ""), (19, 24, "last")];
            assert_eq!(seen, expected.map(|(start, end, text)| (start, end, text.to_owned())));
        }
    }

    /// A file with one endless line must not be read into memory.
    #[test]
    fn overlong_line_is_skipped_without_its_text() {
        for (length, is_kept) in [(LINE_BYTES_MAX, true), (LINE_BYTES_MAX + 1, false)] {
            for end in ["", "\n", "\r\n"] {
                let text = [vec![b'x'; length], end.into()].concat();
                let line = Lines::new(&text[..]).next().unwrap().unwrap();
                assert_eq!(line.text.map(|text| text.len()), is_kept.then_some(length), "{length} bytes, then {end:?}");
            }
        }
        let text = [b"a\n".to_vec(), vec![b'x'; 3 * LINE_BYTES_MAX], b"\nb\n".to_vec()].concat();
        let mut lines = Lines::new(BufReader::with_capacity(1000, &text[..]));
        assert_eq!(lines.next().unwrap().unwrap().text.unwrap(), b"a");
        let long = lines.next().unwrap().unwrap();
        assert_eq!((long.text, long.end - long.start), (None, 3 * LINE_BYTES_MAX as u64 + 1));
        assert_eq!(lines.next().unwrap().unwrap().text.unwrap(), b"b");
        assert!(lines.next().unwrap().is_none());
    }
}
