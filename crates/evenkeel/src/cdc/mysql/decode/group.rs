//! What begins, moves and prepares groups: rotations, GTIDs, `XA PREPARE`.

use super::super::place::number;
use super::cursor::Cursor;
use super::{Damaged, Decoded};
use std::fmt;

/// Where the log goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Rotate {
    pub(in super::super) offset: u64,
    pub(in super::super) file: String,
}

impl Rotate {
    /// `current` is the file that is read. The first event of a connection names it again, with a checksum behind the name that no format
    /// description has announced.
    pub(in super::super) fn decode(body: &[u8], current: &str) -> Decoded<Self> {
        let mut from = Cursor::new(body);
        let offset = from.u64()?;
        let name = match from.rest().strip_prefix(current.as_bytes()) {
            Some([] | [_, _, _, _]) => current.as_bytes(),
            _ => from.rest(),
        };
        match std::str::from_utf8(name) {
            Ok(file) if number(file).is_some() => Ok(Self { offset, file: file.to_owned() }),
            _ => Err(Damaged(format!("{} is not the name of a file of the log", name.escape_ascii()))),
        }
    }
}

/// The id of a group of MariaDB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct GroupId {
    domain: u32,
    server: u32,
    sequence: u64,
    /// The group is one statement, without a commit.
    pub(in super::super) standalone: bool,
    /// The group is that of an `XA PREPARE`: the id of its transaction, as statements print it.
    pub(in super::super) prepared: Option<String>,
}

const STANDALONE: u8 = 1;
const COMMIT_ID: u8 = 2;
const PREPARED: u8 = 64;

impl GroupId {
    pub(in super::super) fn decode(server: u32, body: &[u8]) -> Decoded<Self> {
        let mut from = Cursor::new(body);
        let (sequence, domain, flags) = (from.u64()?, from.u32()?, from.u8()?);
        if flags & COMMIT_ID != 0 {
            from.u64()?;
        }
        let prepared = if flags & PREPARED != 0 { Some(xa(&mut from)?) } else { None };
        Ok(Self { domain, server, sequence, standalone: flags & STANDALONE != 0, prepared })
    }
}

/// `x'6f6e65',x'',1`: global id, branch, format.
fn xa(from: &mut Cursor<'_>) -> Decoded<String> {
    let (format, global, branch) = (from.u32()?, from.u8()?, from.u8()?);
    let mut hex = |length: u8| Ok(from.take(usize::from(length))?.iter().map(|byte| format!("{byte:02x}")).collect());
    let (global, branch): (String, String) = (hex(global)?, hex(branch)?);
    Ok(format!("x'{global}',x'{branch}',{format}"))
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain, self.server, self.sequence)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    // shows: hazard LB10
    #[test]
    fn name_of_a_file_ends_before_an_unannounced_checksum() {
        let rotate = |body: &[u8], current: &str| Rotate::decode(body, current);
        let found = rotate(b"\x04\0\0\0\0\0\0\0bin.0000016789", "bin.000001").unwrap();
        assert_eq!(found, Rotate { offset: 4, file: "bin.000001".to_owned() });
        let next = rotate(b"\x04\0\0\0\0\0\0\0bin.000002", "bin.000001").unwrap();
        assert_eq!(next.file, "bin.000002");
        let wider = rotate(b"\x04\0\0\0\0\0\0\0bin.1000000", "bin.999999").unwrap();
        assert_eq!(wider.file, "bin.1000000");
        assert!(rotate(b"\x04\0\0\0\0\0\0\0bin.00000x", "bin.000001").is_err());
    }

    #[test]
    fn prepared_group_has_the_id_that_statements_print() {
        let body = [&[5; 12][..], &[0x40 | 2], &[0; 8], &[1, 0, 0, 0, 3, 1], b"oneb"].concat();
        let id = GroupId::decode(7, &body).unwrap();
        assert_eq!(id.prepared.as_deref(), Some("x'6f6e65',x'62',1"));
        assert!(!id.standalone);
    }
}
