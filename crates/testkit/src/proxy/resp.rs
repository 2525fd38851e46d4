//! The part of the Redis protocol that delimits commands and replies.

use super::record::Command;
use bytes::{Bytes, BytesMut};

/// The recorded length of an argument.
const ARGUMENT_BYTES: usize = 64;

/// The bytes are not RESP (another protocol, TLS, or a streamed type).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotResp;

/// Splits a stream into complete frames. Once the bytes are not RESP, every piece counts as a frame.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pub(super) buffer: BytesMut,
    pub(super) opaque: bool,
}

impl Frames {
    /// The next complete frame, if the buffer has one.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        if !self.opaque {
            match frame_length(&self.buffer) {
                Ok(length) => return length.map(|length| self.buffer.split_to(length).freeze()),
                Err(NotResp) => self.opaque = true,
            }
        }
        (!self.buffer.is_empty()).then(|| self.buffer.split().freeze())
    }
}

/// The length of the first frame, or `None` if it is incomplete.
pub(super) fn frame_length(bytes: &[u8]) -> Result<Option<usize>, NotResp> {
    let mut position = 0;
    let mut values_left = 1_u64;
    while values_left > 0 {
        let Some(&kind) = bytes.get(position) else { return Ok(None) };
        if !b"+-:_,#($!=*~>%|".contains(&kind) {
            return Err(NotResp);
        }
        let Some(line) = bytes[position + 1..].windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
        let text = &bytes[position + 1..position + 1 + line];
        position += line + 3;
        values_left -= 1;
        match kind {
            b'$' | b'!' | b'=' => {
                if let Some(length) = count(text)? {
                    position = position.checked_add(length).and_then(|end| end.checked_add(2)).ok_or(NotResp)?;
                }
            }
            b'*' | b'~' | b'>' => values_left = more(values_left, count(text)?, 1, 0)?,
            b'%' => values_left = more(values_left, count(text)?, 2, 0)?,
            // Attributes precede the value that they describe.
            b'|' => values_left = more(values_left, count(text)?, 2, 1)?,
            _ => {}
        }
    }
    Ok((position <= bytes.len()).then_some(position))
}

/// Whether a frame from the server is a push message, not a reply.
pub(super) fn is_push(frame: &[u8]) -> bool {
    frame.first() == Some(&b'>')
}

/// Name and first argument of a command frame; `None` if it is not an array of strings.
pub(super) fn command(frame: &[u8]) -> Option<Command> {
    let rest = frame.strip_prefix(b"*")?;
    let mut rest = &rest[line_end(rest)?..];
    let name = String::from_utf8_lossy(string(&mut rest)?).to_uppercase();
    let argument = string(&mut rest)
        .map(|argument| String::from_utf8_lossy(&argument[..argument.len().min(ARGUMENT_BYTES)]).into_owned());
    Some(Command { number: 0, connection: 0, name, argument })
}

/// A length; `None` for the null of RESP2, which has no body.
fn count(text: &[u8]) -> Result<Option<usize>, NotResp> {
    if text == b"-1" {
        return Ok(None);
    }
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).map(Some).ok_or(NotResp)
}

fn more(values_left: u64, count: Option<usize>, each: u64, extra: u64) -> Result<u64, NotResp> {
    let count = u64::try_from(count.unwrap_or(0)).map_err(|_| NotResp)?;
    count.checked_mul(each).and_then(|more| values_left.checked_add(more)?.checked_add(extra)).ok_or(NotResp)
}

fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let bytes = rest.strip_prefix(b"$")?;
    let start = line_end(bytes)?;
    let length = count(&bytes[..start - 2]).ok()??;
    let string = bytes.get(start..start.checked_add(length)?)?;
    *rest = bytes.get(start + length + 2..)?;
    Some(string)
}

/// The start of the next line.
fn line_end(bytes: &[u8]) -> Option<usize> {
    Some(bytes.windows(2).position(|pair| pair == b"\r\n")? + 2)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails at the first error")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn command_name_and_argument_are_parsed() {
        let frame = b"*3\r\n$3\r\nset\r\n$1\r\nk\r\n$2\r\n\r\n\r\n";
        let command = command(frame).unwrap();
        assert_eq!((command.name.as_str(), command.argument.as_deref()), ("SET", Some("k")));
        assert_eq!(frame_length(frame), Ok(Some(frame.len())));
    }

    #[test]
    fn nulls_and_nested_values_are_complete_frames() {
        for frame in
            ["$-1\r\n", "*-1\r\n", "_\r\n", "*2\r\n*1\r\n:1\r\n%1\r\n+a\r\n#t\r\n", "|1\r\n+ttl\r\n:5\r\n$1\r\nx\r\n"]
        {
            assert_eq!(frame_length(frame.as_bytes()), Ok(Some(frame.len())), "{frame:?}");
        }
    }

    #[test]
    fn other_protocols_pass_unchanged() {
        let mut frames = Frames::default();
        frames.buffer.extend_from_slice(b"GET / HTTP/1.1\r\n");
        assert_eq!(frames.next().unwrap(), "GET / HTTP/1.1\r\n");
        frames.buffer.extend_from_slice(b"*1");
        assert_eq!(frames.next().unwrap(), "*1", "once opaque, always opaque");
        assert_eq!(frames.next(), None);
    }

    #[test]
    fn huge_lengths_are_invalid_or_incomplete() {
        let far = format!("${}\r\n", usize::MAX);
        assert_eq!(frame_length(far.as_bytes()), Err(NotResp));
        assert_eq!(frame_length(b"*4294967295\r\n"), Ok(None));
    }

    fn value() -> impl Strategy<Value = Vec<u8>> {
        let leaf = prop_oneof![
            "[a-z ]{0,5}".prop_map(|text| format!("+{text}\r\n").into_bytes()),
            any::<i32>().prop_map(|number| format!(":{number}\r\n").into_bytes()),
            proptest::collection::vec(any::<u8>(), 0..12)
                .prop_map(|bytes| { [format!("${}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat() }),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            let values = proptest::collection::vec(inner, 0..4);
            (prop_oneof![Just('*'), Just('>'), Just('~')], values).prop_map(|(kind, values)| {
                [format!("{kind}{}\r\n", values.len()).into_bytes(), values.concat()].concat()
            })
        })
    }

    proptest! {
        #[test]
        fn frames_do_not_depend_on_how_the_stream_is_split(values in proptest::collection::vec(value(), 1..6), piece in 1_usize..9) {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for piece in values.concat().chunks(piece) {
                frames.buffer.extend_from_slice(piece);
                found.extend(std::iter::from_fn(|| frames.next()).map(|frame| frame.to_vec()));
            }
            prop_assert!(!frames.opaque);
            prop_assert_eq!(found, values);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let length = frame_length(&bytes);
            prop_assert!(length.is_err() || length.unwrap().is_none_or(|length| length <= bytes.len()));
            command(&bytes);
        }
    }
}
