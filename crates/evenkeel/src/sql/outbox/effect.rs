//! What a unit of work can ask for.

use crate::cache::Demand;
use crate::queue::JobPut;
use bytes::Bytes;
use std::collections::BTreeMap;

/// Something that must happen once the transaction is committed. Every effect is safe to repeat, however late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Ends every load of a cache entry that began before.
    Invalidate(Invalidate),
    /// Puts a job, or takes it back, by version.
    Put(JobPut),
    /// Publishes a message that has no place in an order. (Those that have one are rows of their own.)
    Publish(Message),
}

/// The invalidation of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invalidate {
    pub(crate) cache: String,
    /// The user's key, as the cache writes it.
    pub(crate) key: Bytes,
    pub(crate) demand: Demand,
    /// The work opened an update window on this entry before its commit, under its own id: end that window, and no other one.
    pub(crate) window: bool,
}

/// A message for a sink: a broker, a stream.
///
/// ```
/// use evenkeel::sql::Message;
///
/// let sold = Message::new("orders", r#"{"order":7,"state":"sold"}"#).key("order/7").header("type", "sold");
/// # let _ = sold;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which subject, stream or queue it is for.
    pub(crate) topic: String,
    /// Messages of one topic and key are sent in the order of their commits; `None`: this one has no place in an order.
    pub(crate) key: Option<String>,
    pub(crate) payload: Bytes,
    pub(crate) headers: BTreeMap<String, String>,
}

impl Message {
    /// A message without a key: it is sent in no particular order.
    #[must_use]
    pub fn new(topic: impl Into<String>, payload: impl Into<Bytes>) -> Self {
        Self { topic: topic.into(), key: None, payload: payload.into(), headers: BTreeMap::new() }
    }

    /// Orders it: messages of one topic and key are sent one after the other, in the order of their commits. One that cannot be
    /// sent holds up those of its own key only.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Text that travels beside the payload.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }
}
