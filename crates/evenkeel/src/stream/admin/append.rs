//! Appends an encoded value: for programs that do not know its type.

use super::StreamAdmin;
use crate::stream::sending::send::{Appended, until_answered};
use bytes::Bytes;
use evenkeel_link::Token;
use evenkeel_protocol::codec::check_encoded;
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::entry::Record;
use evenkeel_protocol::stream::name::{partition_of, producer_of};
use evenkeel_protocol::stream::steps::{self, Append, NewEntry, Sequenced};

/// How long the name of an append is stored.
const NAMED_MS: u64 = 24 * 3_600_000;

impl StreamAdmin {
    /// The codec of the entries ([`Codec::id`](evenkeel_protocol::codec::Codec::id)).
    #[must_use]
    pub fn codec(&self) -> u8 {
        self.base.record.codec
    }

    /// Appends a value that is already encoded with the [codec](Self::codec) of the stream. A repeated call with the same `name` and key
    /// appends nothing, for at least a day unless a program that appends to the partition has a shorter
    /// [`producer_window`](crate::stream::StreamBuilder::producer_window). `entries_max` does not apply.
    ///
    /// # Errors
    /// [`StreamError::TooLarge`], [`StreamError::Codec`] (no consumer could decode the value), [`StreamError::Invalid`] (an empty name): nothing
    /// was sent. [`StreamError::Link`] with `outcome_unknown`: it may have been appended; with a name,
    /// repeat the call.
    pub async fn append(&self, key: &[u8], value: Bytes, name: Option<&str>) -> Result<Appended, StreamError> {
        check_encoded(self.codec(), &value)?;
        if name.is_some_and(str::is_empty) {
            return Err(StreamError::Invalid("the name of an append must not be empty; omit it".to_owned()));
        }
        let record = Record { codec: self.codec(), body: value, ..Record::default() }.encode();
        let producer = match name {
            Some(name) => producer_of(format!("append/{name}").as_bytes(), key),
            None => Token::random(),
        };
        let sequenced = Some(Sequenced { producer, sequence: 1, previous: 0 });
        let entries = vec![NewEntry { key: Bytes::copy_from_slice(key), record, sequenced }];
        let append = Append { entries, entries_max: None, producer_window_ms: NAMED_MS };
        let partition = partition_of(key, self.partitions());
        let replies = until_answered(&self.base, partition, &append).await?;
        match replies.first() {
            Some(steps::Appended::Appended(id)) => Ok(Appended { partition, id: Some(*id), is_new: true }),
            // Without a name, an earlier attempt of this call has appended it.
            Some(steps::Appended::Duplicate(id)) => Ok(Appended { partition, id: *id, is_new: name.is_none() }),
            _ => Err(StreamError::Full { stream: self.base.name.to_string() }),
        }
    }
}
