//! Where effects go that are neither an invalidation nor a job: to a sink, by topic and key.
//!
//! A sink is a small trait, so a broker that Evenkeel does not know is a few lines away:
//!
//! ```
//! use evenkeel::sql::sink::{Confirmed, Envelope, Sink, SinkError};
//!
//! struct Printer;
//!
//! impl Sink for Printer {
//!     async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
//!         if message.topic.is_empty() {
//!             return Err(SinkError::Poison("a message needs a topic".to_owned())); // no later attempt can help
//!         }
//!         println!("{} {:?}: {} bytes", message.topic, message.order, message.payload.len());
//!         Ok(Confirmed::Accepted)
//!     }
//! }
//! ```
//!
//! * [`Sink`] — the trait: a message in, a confirmation or an error out.
//! * [`Sinks`] — which sink takes which topics, for the fast path and the relay.
//! * [`StreamSink`] — Redis streams that take each sequence of a key once; [`stream`] has its steps, model and scripts.
//! * `NatsSink` — NATS JetStream (feature `nats`).

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

/// What a sink says when it has a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    /// It took the message.
    Accepted,
    /// It had the message before, and dropped this copy. As good as [`Accepted`](Self::Accepted).
    Duplicate,
}

/// Something that takes messages and says when it has them for good.
///
/// What callers rely on: `Ok` means that the message outlives this process. A message may come more than once, also long after
/// others of its key; a sink that can tell drops the copy ([`Envelope::order`], [`Envelope::id`]) and answers
/// [`Confirmed::Duplicate`]. Dropping the future may leave the message sent or not.
pub trait Sink: Send + Sync + 'static {
    /// Hands over one message.
    ///
    /// # Errors
    /// See [`SinkError`]: whether the sink is away, whether trying again helps.
    fn publish(&self, message: &Envelope) -> impl Future<Output = Result<Confirmed, SinkError>> + Send;

    /// Hands over several; one answer each, in order.
    ///
    /// Messages of one key come in their order, and **after one of them failed no later one of that key may be sent**: its
    /// answer is [`SinkError::Held`]. By default one after the other.
    fn publish_all(&self, messages: &[Envelope]) -> impl Future<Output = Vec<Result<Confirmed, SinkError>>> + Send {
        async move {
            let mut failed = HashSet::new();
            let mut answers = Vec::with_capacity(messages.len());
            for message in messages {
                let lane = message.lane();
                let answer = match lane.is_some_and(|lane| failed.contains(&lane)) {
                    true => Err(SinkError::Held),
                    false => self.publish(message).await,
                };
                if let (Err(_), Some(lane)) = (&answer, lane) {
                    failed.insert(lane);
                }
                answers.push(answer);
            }
            answers
        }
    }
}
