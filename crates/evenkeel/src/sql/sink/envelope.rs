//! What a sink is given.

use bytes::Bytes;

/// The place of a message among those of its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// What the messages belong to that must stay in order: an account, a link, a customer.
    pub key: String,
    /// Counts the messages of the key without a hole, from 1.
    pub sequence: u64,
}

/// One message as a sink is given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Which outbox counted [`Order::sequence`]: sequences of two outboxes have nothing to do with each other.
    pub source: String,
    /// Names the message: a copy has the same id.
    pub id: String,
    /// Where it goes: a stream, a subject, a routing key.
    pub topic: String,
    /// `None` for a message that may overtake others.
    pub order: Option<Order>,
    /// The bytes as they were given.
    pub payload: Bytes,
    /// Names and values that travel beside the payload: the trace context, and what the sender added.
    pub headers: Vec<(String, String)>,
}

impl Envelope {
    /// What must stay in order with this message, if anything.
    pub(crate) fn lane(&self) -> Option<(&str, &str, &str)> {
        self.order.as_ref().map(|order| (self.source.as_str(), self.topic.as_str(), order.key.as_str()))
    }
}
