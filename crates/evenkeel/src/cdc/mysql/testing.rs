//! Reads a file of the log without a server, for tests that damage it.

use super::decode::{Charsets, Header};
use super::place::Place;
use super::reader::Reader;
use crate::cdc::source::{Event, SourceError, Table};

/// The events of a file of the log, whose collations are all `utf8mb4`'s. Checksums are not compared.
///
/// # Errors
/// [`SourceError::Unreadable`] with the position of the first event that does not decode.
pub fn decode_file(name: &str, file: &[u8], tables: &[Table]) -> Result<Vec<Event>, SourceError> {
    let charsets = Charsets::new((0..4_096).map(|id| (id, if id == 63 { "binary" } else { "utf8mb4" }.to_owned())));
    let start = Place { file: name.to_owned(), offset: 4 };
    let mut reader = Reader::new(0, tables.to_vec(), charsets, start, None);
    let mut rest = file.get(4..).unwrap_or_default();
    let mut checksum = 0;
    while !rest.is_empty() {
        let Some((header, length)) = header(rest) else { return Err(reader.unreadable("a header that is cut off")) };
        let Some((event, further)) = rest.split_at_checked(length) else {
            return Err(reader.unreadable("an event that is shorter than its header says"));
        };
        rest = further;
        if header.raw == 15 {
            // The algorithm is the byte before the checksum, which this event always has.
            let algorithm = event.len().checked_sub(5).and_then(|place| event.get(place));
            checksum = if algorithm == Some(&1) { 4 } else { 0 };
        }
        let end = event.len().saturating_sub(checksum).max(19);
        reader.event(header, event.get(19..end).unwrap_or_default())?;
    }
    Ok(reader.take())
}

/// The header of the first event, and the event's length.
fn header(bytes: &[u8]) -> Option<(Header, usize)> {
    let four = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let flags = u16::from_le_bytes(bytes.get(17..19)?.try_into().ok()?);
    let header = Header { seconds: four(0)?, raw: *bytes.get(4)?, server: four(5)?, end: four(13)?, flags };
    let length = usize::try_from(four(9)?).ok()?;
    (length >= 19).then_some((header, length))
}
