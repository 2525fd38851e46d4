//! Entries that a unit of work appends to streams.

use super::{Effects, check_name, of_another_keel};
use crate::sql::error::SqlError;
use crate::sql::outbox::Message;
use crate::sql::sink::appends;
use crate::stream::NewEntry;
use evenkeel_link::support::guard;
use std::collections::BTreeMap;

impl Effects {
    /// Appends an entry to a stream after the commit. `orders.entry(key, &value)` creates it; its value is encoded at once.
    ///
    /// **Guarantee.** A relay of any program with the feature `stream` appends the entries of a key in the order in which their transactions commit, each at least once, and a repetition within a week is recognized. The limit
    /// `entries_max` does not apply, because the committed effect must be carried out.
    /// **Not guaranteed.** The order among entries that are appended without a unit of work; that an entry survives a Redis that loses
    /// what it has acknowledged, unless the stream is registered in this database
    /// ([`StreamBuilder::sql`](crate::stream::StreamBuilder::sql)): otherwise its row is deleted once Redis has it.
    ///
    /// # Errors
    /// [`SqlError::Effect`] if the value cannot be encoded or is too large; if the key is not text of 1 to 255 bytes without a zero byte;
    /// if the entry has a number of its own; or if the stream is of a keel over another Redis. The effect was not recorded.
    pub fn append<T: Send + Sync + 'static>(&mut self, entry: NewEntry<'_, T>) -> Result<(), SqlError> {
        let base = entry.base();
        if !base.store.is_same(&self.shared.destinations.streams.store) && guard("effects_of_one_keel") {
            return Err(of_another_keel("stream", &base.name));
        }
        let topic = format!("{}{}", appends::TOPIC_PREFIX, base.name);
        let headers = BTreeMap::from([
            (appends::PARTITIONS.to_owned(), base.record.partitions.to_string()),
            (appends::CODEC.to_owned(), base.record.codec.to_string()),
        ]);
        let effect = |error: evenkeel_protocol::stream::StreamError| SqlError::Effect(error.to_string());
        let entry = entry.trace_unless_set(self.trace.as_deref()).into_entry().map_err(effect)?;
        if entry.sequenced.is_some() {
            let sentence = "an entry of a unit of work has no number of its own: its transaction numbers it";
            return Err(SqlError::Effect(sentence.to_owned()));
        }
        let key = String::from_utf8(entry.key.to_vec());
        let key = key.map_err(|_| SqlError::Effect("the key of an entry of a unit of work must be text".to_owned()))?;
        check_name("key", &key)?;
        self.ordered.push(Message { topic, key: Some(key), payload: entry.record, headers });
        Ok(())
    }
}
