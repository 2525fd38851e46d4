//! Sinks: the destinations of messages, chosen by topic.
//!
//! A sink implements a small trait, so support for another message broker takes a few lines:
//!
//! ```
//! use evenkeel::sql::sink::{Confirmed, Envelope, Sink, SinkError};
//!
//! struct Printer;
//!
//! impl Sink for Printer {
//!     async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
//!         if message.topic.is_empty() {
//!             return Err(SinkError::Poison("a message needs a topic".to_owned())); // no later attempt can succeed
//!         }
//!         println!("{} {:?}: {} bytes", message.topic, message.order, message.payload.len());
//!         Ok(Confirmed::Accepted)
//!     }
//! }
//! ```
//!
//! * [`Sink`] — the trait: it receives a message and returns a confirmation or an error.
//! * [`Sinks`] — which sink receives which topics, on the fast path and in the relay.
//! * [`Sinks::streams`](Sinks) — the streams of a keel, for the entries that units of work append (feature `stream`). A relay has this
//!   route without it.
//! * [`StreamSink`] — Redis streams that accept each sequence of a key once; [`stream`] has its limits and entries.
//! * `NatsSink` — NATS JetStream (feature `nats`).

#[cfg(feature = "stream")]
pub(crate) mod appends;
mod envelope;
mod error;
#[cfg(feature = "nats")]
mod nats;
mod registry;
pub mod stream;

pub use envelope::{Envelope, Order};
pub use error::SinkError;

#[cfg(feature = "nats")]
pub use nats::NatsSink;
pub use registry::Sinks;
pub use stream::StreamSink;

use std::collections::HashSet;
use std::future::Future;

/// The topic of a stream's appends begins with it. Names of streams have no slash. Messages of programs cannot have such a topic, and
/// only a route with this prefix applies to it.
pub(crate) const TOPIC_PREFIX: &str = "evenkeel.stream/";

/// The confirmation of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// The sink stored the message.
    Accepted,
    /// The sink had stored the message before and dropped this copy. Equivalent to [`Accepted`](Self::Accepted).
    Duplicate,
}

/// A destination that confirms messages once they are stored durably.
///
/// Callers rely on the following: `Ok` means that the message survives the end of this process. A message may be sent more than once,
/// also long after later messages of its key; a sink that detects the copy ([`Envelope::order`], [`Envelope::id`]) drops it and
/// returns [`Confirmed::Duplicate`]. If the future is dropped, the message may or may not have been sent.
pub trait Sink: Send + Sync + 'static {
    /// Sends one message.
    ///
    /// # Errors
    /// See [`SinkError`]: whether the sink is unavailable, and whether a retry can succeed.
    fn publish(&self, message: &Envelope) -> impl Future<Output = Result<Confirmed, SinkError>> + Send;

    /// Sends several messages; returns one result for each, in order.
    ///
    /// The messages of one key are given in their order, and **after one of them has failed no later one of that key may be sent**:
    /// its result is [`SinkError::Held`]. The default implementation sends one after the other.
    fn publish_all(&self, messages: &[Envelope]) -> impl Future<Output = Vec<Result<Confirmed, SinkError>>> + Send {
        async move {
            let mut failed = HashSet::new();
            let mut answers = Vec::with_capacity(messages.len());
            for message in messages {
                let ordering_key = message.ordering_key();
                let answer = match ordering_key.is_some_and(|ordering_key| failed.contains(&ordering_key)) {
                    true => Err(SinkError::Held),
                    false => self.publish(message).await,
                };
                if let (Err(_), Some(ordering_key)) = (&answer, ordering_key) {
                    failed.insert(ordering_key);
                }
                answers.push(answer);
            }
            answers
        }
    }
}
