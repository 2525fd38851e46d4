//! [`NewEntry`]: an entry with its options, before it is appended.

use super::send::{self, Appended};
#[cfg(feature = "sql")]
use crate::stream::Base;
use crate::stream::stream::Stream;
use bytes::Bytes;
use evenkeel_protocol::codec::encode;
use evenkeel_protocol::stream::entry::Record;
use evenkeel_protocol::stream::name::producer_of;
use evenkeel_protocol::stream::steps::{self, SEQUENCE_MAX, Sequenced};
use evenkeel_protocol::stream::{StreamError, check};
use std::collections::BTreeMap;

/// The most bytes of the headers, and of the trace context.
const NOTES_BYTES_MAX: usize = 60_000;

/// An entry with its options. Nothing is sent until [`append`](Self::append) or [`Stream::append_many`].
#[must_use = "nothing is sent until `append`"]
pub struct NewEntry<'a, T> {
    stream: &'a Stream<T>,
    key: Bytes,
    record: Result<Record, StreamError>,
    headers: BTreeMap<String, String>,
    numbered: Option<(Bytes, u64)>,
}

impl<'a, T: Send + Sync + 'static> NewEntry<'a, T> {
    pub(crate) fn new(stream: &'a Stream<T>, key: &[u8], value: &T) -> Self {
        let core = stream.core();
        let limit = core.settings.value_bytes_max;
        let record = match encode(&*core.codec, value) {
            Err(error) => Err(error.into()),
            Ok(body) if body.len() > limit => Err(StreamError::TooLarge { bytes: body.len(), limit }),
            Ok(body) => Ok(Record { codec: core.codec.id(), body: body.into(), ..Record::default() }),
        };
        Self { stream, key: Bytes::copy_from_slice(key), record, headers: BTreeMap::new(), numbered: None }
    }

    /// Adds a text header. Names and values together have at most 60,000 bytes.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// The trace context of the sender (W3C `traceparent`); at most 60,000 bytes.
    pub fn trace(mut self, traceparent: &str) -> Self {
        if let Ok(record) = &mut self.record {
            record.trace = Bytes::copy_from_slice(traceparent.as_bytes());
        }
        self
    }

    /// Makes the append idempotent: `producer` numbers its entries of this key 1, 2, 3, .. An entry whose number is already in the log is
    /// not appended again, and one whose predecessor is missing fails with [`StreamError::OutOfOrder`]. The numbers are stored for
    /// [`producer_window`](crate::stream::StreamBuilder::producer_window) after the last append; a producer that Redis does not know may
    /// begin with any number.
    pub fn numbered(mut self, producer: impl AsRef<[u8]>, number: u64) -> Self {
        self.numbered = Some((Bytes::copy_from_slice(producer.as_ref()), number));
        self
    }

    /// Appends the entry.
    ///
    /// # Errors
    /// As [`Stream::append`]; [`StreamError::OutOfOrder`] for an entry with a number; [`StreamError::Invalid`] for the number 0, one above
    /// 2^53 - 1, or headers or trace context above their limits.
    pub async fn append(self) -> Result<Appended, StreamError> {
        let core = self.stream.core();
        let one = send::send(core, vec![self.into_entry()?]).await?;
        one.into_iter().next().unwrap_or_else(|| Err(StreamError::Invalid("no entry was sent".to_owned())))
    }

    /// The stream of the entry.
    #[cfg(feature = "sql")]
    pub(crate) fn base(&self) -> &'a Base {
        &self.stream.core().base
    }

    /// Sets the trace context, if there is one and the caller has set none.
    #[cfg(feature = "sql")]
    pub(crate) fn trace_unless_set(self, traceparent: Option<&str>) -> Self {
        let is_set = self.record.as_ref().is_ok_and(|record| !record.trace.is_empty());
        match traceparent {
            Some(traceparent) if !is_set => self.trace(traceparent),
            _ => self,
        }
    }

    /// The entry as the steps append it.
    pub(crate) fn into_entry(self) -> Result<steps::NewEntry, StreamError> {
        let mut record = self.record?;
        if !self.headers.is_empty() {
            record.headers =
                serde_json::to_vec(&self.headers).map_err(|error| StreamError::Invalid(error.to_string()))?.into();
        }
        for (what, bytes) in [("headers have", record.headers.len()), ("trace context has", record.trace.len())] {
            if bytes > NOTES_BYTES_MAX {
                return Err(StreamError::Invalid(format!("an entry's {what} {bytes} bytes; the limit is 60,000")));
            }
        }
        let sequenced = match self.numbered {
            None => None,
            Some((_, number)) if number == 0 || number > SEQUENCE_MAX => {
                return Err(StreamError::Invalid(format!(
                    "the number {number} of an entry is not between 1 and 2^53 - 1"
                )));
            }
            Some((producer, number)) => {
                let producer = producer_of(&producer, &self.key);
                Some(Sequenced { producer, sequence: number, previous: number - 1 })
            }
        };
        let record = record.encode();
        check::sizes(&self.key, &record)?;
        self.stream.core().metrics.entry_bytes.record(record.len() as f64);
        Ok(steps::NewEntry { key: self.key, record, sequenced })
    }
}
