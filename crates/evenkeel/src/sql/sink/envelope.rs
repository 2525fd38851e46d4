//! The message as a sink receives it.

use crate::sql::outbox::{Message, WorkId};
use bytes::Bytes;

/// The position of a message among those of its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The entity whose messages must stay in order: an account, a link, a customer.
    pub key: String,
    /// The sequence number of the message within its key, without gaps, from 1.
    pub sequence: u64,
}

/// One message as a sink receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The outbox that assigned [`Order::sequence`]: the sequences of two outboxes are independent.
    pub source: String,
    /// The id of the message, which is the same in all its copies: at most 255 bytes, so that it can be its name in an
    /// [`Inbox`](crate::sql::Inbox).
    pub id: String,
    /// The topic: a stream, a subject, a routing key.
    pub topic: String,
    /// `None` for an unordered message.
    pub order: Option<Order>,
    /// The payload as it was published.
    pub payload: Bytes,
    /// Names and values that are sent with the payload: the trace context, and the headers of the sender.
    pub headers: Vec<(String, String)>,
}

impl Envelope {
    /// The envelope of an unordered message, the `number`th effect of its unit of work: together they identify the message permanently,
    /// so that a sink can detect duplicates.
    pub(crate) fn unordered(work: WorkId, number: usize, message: &Message) -> Self {
        Self {
            source: String::new(),
            id: format!("{work}/{number}"),
            topic: message.topic.clone(),
            order: None,
            payload: message.payload.clone(),
            headers: message.headers.clone().into_iter().collect(),
        }
    }

    /// The source, topic and key within which this message is ordered, if any.
    pub(crate) fn ordering_key(&self) -> Option<(&str, &str, &str)> {
        self.order.as_ref().map(|order| (self.source.as_str(), self.topic.as_str(), order.key.as_str()))
    }
}
