//! What the log has of an entry: its key, and a record of codec, trace context, headers and body; docs/spec/stream.md has the table of
//! offsets. The scripts do not look into the record.

use bytes::{BufMut, Bytes, BytesMut};

/// The first byte of a record.
const FORMAT: u8 = 1;
/// Format, codec, and the lengths of trace context and headers.
const HEAD_BYTES: usize = 6;

/// What a producer appends for a key.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Record {
    /// The id of the codec that wrote the body; 0 for raw bytes.
    pub codec: u8,
    /// The trace context, or nothing.
    pub trace: Bytes,
    /// Headers, as the library encodes them.
    pub headers: Bytes,
    /// The body.
    pub body: Bytes,
}

/// The bytes are not a record of a known format. Such an entry goes to the dead letters and does not stop its consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record of the entry is damaged, or a newer program wrote it")]
pub struct NotARecord;

impl Record {
    /// The bytes in the log. Trace context and headers above 65,535 bytes are rejected by the steps before.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let length = |bytes: &Bytes| u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        let (trace, headers) = (length(&self.trace), length(&self.headers));
        let mut bytes = BytesMut::with_capacity(HEAD_BYTES + self.trace.len() + self.headers.len() + self.body.len());
        bytes.put_u8(FORMAT);
        bytes.put_u8(self.codec);
        bytes.put_u16(trace);
        bytes.put_u16(headers);
        bytes.put_slice(&self.trace[..usize::from(trace)]);
        bytes.put_slice(&self.headers[..usize::from(headers)]);
        bytes.put_slice(&self.body);
        bytes.freeze()
    }

    /// Reads the bytes of the log.
    ///
    /// # Errors
    /// [`NotARecord`] if the format is unknown or the lengths do not fit.
    pub fn decode(bytes: &Bytes) -> Result<Self, NotARecord> {
        let &[FORMAT, codec, a, b, c, d] = bytes.get(..HEAD_BYTES).ok_or(NotARecord)? else {
            return Err(NotARecord);
        };
        let headers_at = HEAD_BYTES + usize::from(u16::from_be_bytes([a, b]));
        let body_at = headers_at + usize::from(u16::from_be_bytes([c, d]));
        if body_at > bytes.len() {
            return Err(NotARecord);
        }
        let (trace, headers) = (bytes.slice(HEAD_BYTES..headers_at), bytes.slice(headers_at..body_at));
        Ok(Self { codec, trace, headers, body: bytes.slice(body_at..) })
    }
}

#[cfg(test)]
mod tests {
    use super::{NotARecord, Record};
    use bytes::Bytes;

    #[test]
    fn record_round_trips() {
        let (trace, headers, body) = ("trace".into(), Bytes::new(), "body".into());
        let record = Record { codec: 2, trace, headers, body };
        assert_eq!(Record::decode(&record.encode()), Ok(record));
        assert_eq!(Record::decode(&Record::default().encode()), Ok(Record::default()));
    }

    #[test]
    fn damaged_record_is_rejected() {
        let whole = Record { trace: "trace".into(), ..Record::default() }.encode();
        for length in 0..whole.len() {
            assert_eq!(Record::decode(&whole.slice(..length)), Err(NotARecord), "{length}");
        }
        assert_eq!(Record::decode(&Bytes::from_static(&[2, 0, 0, 0, 0, 0])), Err(NotARecord));
    }
}
