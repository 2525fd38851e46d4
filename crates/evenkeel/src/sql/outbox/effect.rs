//! The effects of a unit of work.

#[cfg(feature = "cache")]
use crate::cache::Demand;
#[cfg(feature = "queue")]
use crate::queue::JobPut;
use bytes::Bytes;
use std::collections::BTreeMap;

/// An action that must follow the commit of the transaction. Every effect is safe to repeat, however late.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Invalidates a cache entry: loads that began before cannot fill it.
    #[cfg(feature = "cache")]
    Invalidate(Invalidate),
    /// Puts or withdraws a job, by version.
    #[cfg(feature = "queue")]
    Put(JobPut),
    /// Publishes an unordered message. (Ordered messages have rows of their own.)
    Publish(Message),
}

impl Effect {
    /// Whether the end of an update window carries it out.
    pub(crate) fn has_window(&self) -> bool {
        #[cfg(feature = "cache")]
        if let Self::Invalidate(invalidate) = self {
            return invalidate.window;
        }
        false
    }
}

/// The invalidation of one entry.
#[cfg(feature = "cache")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invalidate {
    pub(crate) cache: String,
    /// The user's key as the cache encodes it.
    pub(crate) key: Bytes,
    pub(crate) demand: Demand,
    /// The unit of work opened an update window on this entry before its commit, with its id as the token: end that window only.
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
    /// The subject, stream or queue of the sink.
    pub(crate) topic: String,
    /// Messages of one topic and key are sent in the order of their commits; `None`: the message is unordered.
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

    /// Sets the key: messages of one topic and key are sent one after the other, in the order of their commits. A message that cannot
    /// be sent delays only those of its own key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Adds a header, which is sent with the payload.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }
}
