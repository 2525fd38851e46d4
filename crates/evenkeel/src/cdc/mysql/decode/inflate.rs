//! MariaDB's compression: of events (`log_bin_compress`) and of columns (`COMPRESSED`).

use super::cursor::Cursor;
use super::{Damaged, Decoded};
use flate2::{Decompress, FlushDecompress, Status};

/// The longest event that MariaDB writes.
const LARGEST: u64 = 1 << 30;

/// A part of an event: a byte with algorithm and length of the length, the length, and zlib's bytes.
pub(super) fn event(bytes: &[u8]) -> Decoded<Vec<u8>> {
    let mut from = Cursor::new(bytes);
    let head = from.u8()?;
    if head & 0xf0 != 0x80 {
        return Err(Damaged(format!("a compression {head:#x}")));
    }
    let length = from.big(usize::from(head & 7))?;
    inflate(from.rest(), length, true)
}

/// The value of a compressed column.
pub(super) fn column(bytes: &[u8]) -> Decoded<Vec<u8>> {
    let mut from = Cursor::new(bytes);
    if from.is_empty() {
        return Ok(Vec::new());
    }
    let head = from.u8()?;
    if head == 0 {
        return Ok(from.rest().to_vec());
    }
    if head & 0xf0 != 0x80 {
        return Err(Damaged(format!("a column compression {head:#x}")));
    }
    let length = from.big(usize::from(head & 7))?;
    inflate(from.rest(), length, head & 8 == 0)
}

/// The memory grows with what was really inflated: the announced length is only checked, at the end.
fn inflate(bytes: &[u8], length: u64, zlib: bool) -> Decoded<Vec<u8>> {
    if length > LARGEST {
        return Err(Damaged(format!("{length} bytes are announced after decompression")));
    }
    let mut stream = Decompress::new(zlib);
    let mut out = Vec::with_capacity(bytes.len().saturating_mul(4).min(1 << 20));
    loop {
        let read = usize::try_from(stream.total_in()).unwrap_or(usize::MAX);
        let rest = bytes.get(read..).unwrap_or_default();
        if out.len() == out.capacity() {
            out.reserve(out.len().max(4_096));
        }
        let before = (stream.total_in(), stream.total_out());
        let status = stream.decompress_vec(rest, &mut out, FlushDecompress::None);
        let status = status.map_err(|e| Damaged(format!("compressed bytes: {e}")))?;
        if stream.total_out() > length {
            return Err(Damaged(format!("more than the {length} bytes that are announced after decompression")));
        }
        match status {
            Status::StreamEnd if stream.total_out() == length => return Ok(out),
            Status::StreamEnd => return Err(Damaged::new("fewer bytes than announced after decompression")),
            _ if before == (stream.total_in(), stream.total_out()) && out.len() < out.capacity() => {
                return Err(Damaged::new("compressed bytes end early"));
            }
            _ => {}
        }
    }
}
