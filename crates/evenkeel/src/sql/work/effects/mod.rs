//! [`Effects`]: the effects that a unit of work records for after its commit. Those of the cache, of the queue and of streams are in files of
//! their own, because each is there with the feature of its capability.

#[cfg(feature = "stream")]
mod appends;
#[cfg(feature = "cache")]
mod invalidate;
#[cfg(feature = "queue")]
mod jobs;

use super::windows::RequestedWindow;
#[cfg(feature = "queue")]
use crate::queue::JobPut;
use crate::sql::Shared;
use crate::sql::database::Kind;
use crate::sql::error::SqlError;
#[cfg(feature = "cache")]
use crate::sql::outbox::effect::Invalidate;
use crate::sql::outbox::effect::{Effect, Message};
use crate::sql::outbox::{WorkId, format};
use crate::sql::sink::TOPIC_PREFIX;
use crate::trace;
use std::sync::Arc;
use tracing::Span;

/// The maximum length of the name of a topic or key in bytes: the size of its column.
const NAME_BYTES_MAX: usize = 255;

/// The effects of one unit of work, until it commits. [`Work`](super::Work) and [`Joined`](super::Joined) dereference to this type.
///
/// **Guarantee (U1).** Effects recorded here happen if the transaction commits, at least once, and repetitions are harmless; they
/// never happen if it does not commit.
/// **Not guaranteed.** That they have happened when the commit returns: usually they have; after a crash, or while Redis is
/// unavailable, a relay carries them out later.
pub struct Effects {
    pub(super) shared: Arc<Shared>,
    pub(super) work: WorkId,
    #[cfg(feature = "cache")]
    invalidations: Vec<Invalidate>,
    pub(super) windows: Vec<RequestedWindow>,
    #[cfg(feature = "queue")]
    pub(super) puts: Vec<JobPut>,
    /// Ordered messages, which have rows of their own.
    pub(super) ordered: Vec<Message>,
    unordered: Vec<Message>,
    pub(super) trace: Option<String>,
    /// From the begin of the transaction to the end of its commit.
    pub(super) span: Span,
}

impl Effects {
    pub(super) fn new(shared: Arc<Shared>, kind: Kind, work: WorkId) -> Self {
        let span = trace::transaction(kind, work);
        Self {
            // The caller's span stands in if only the spans of the library are not exported.
            trace: trace::context_of(&span).or_else(|| trace::context_of(&Span::current())),
            span,
            shared,
            work,
            #[cfg(feature = "cache")]
            invalidations: Vec::new(),
            windows: Vec::new(),
            #[cfg(feature = "queue")]
            puts: Vec::new(),
            ordered: Vec::new(),
            unordered: Vec::new(),
        }
    }

    /// The id of the unit of work, which names its row in `evenkeel_outbox` and correlates its effects.
    #[must_use]
    pub fn id(&self) -> WorkId {
        self.work
    }

    /// Publishes a message after the commit.
    ///
    /// # Errors
    /// [`SqlError::Effect`] for a topic or key that is empty, longer than 255 bytes, or contains a zero byte, and for a topic that begins
    /// with `evenkeel.stream/`, which is reserved for `append`. The effect was not recorded.
    pub fn publish(&mut self, mut message: Message) -> Result<(), SqlError> {
        check_name("topic", &message.topic)?;
        if message.topic.starts_with(TOPIC_PREFIX) {
            return Err(SqlError::Effect(format!(
                "the topic {:?} is reserved for entries of streams: append them, or choose a topic that does not begin with \
                 `{TOPIC_PREFIX}`",
                message.topic
            )));
        }
        if let Some(trace) = &self.trace {
            message.headers.entry("traceparent".to_owned()).or_insert_with(|| trace.clone());
        }
        match &message.key {
            Some(key) => {
                check_name("key", key)?;
                self.ordered.push(message);
            }
            None => self.unordered.push(message),
        }
        Ok(())
    }

    /// Records an effect of a program in another language. It opens no update window.
    pub(crate) fn record(&mut self, effect: Effect) -> Result<(), SqlError> {
        match effect {
            #[cfg(feature = "cache")]
            Effect::Invalidate(invalidate) => self.invalidations.push(invalidate),
            #[cfg(feature = "queue")]
            Effect::Put(put) => {
                self.put(put);
            }
            Effect::Publish(message) => self.publish(message)?,
        }
        Ok(())
    }

    /// Sets the trace context (a W3C `traceparent`) of all effects recorded from now on. Jobs pass it to their handlers, messages
    /// carry it in the header `traceparent`, and the outbox row stores it. With the feature `otel` the default is the context of the
    /// span of the transaction.
    pub fn trace(&mut self, traceparent: &str) {
        self.trace = Some(traceparent.chars().filter(char::is_ascii_graphic).take(NAME_BYTES_MAX).collect());
    }

    /// Whether jobs are enqueued or withdrawn.
    pub(super) fn has_jobs(&self) -> bool {
        #[cfg(feature = "queue")]
        return !self.puts.is_empty();
        #[cfg(not(feature = "queue"))]
        false
    }

    /// Whether the outbox row of the unit of work has no effects.
    pub(super) fn is_row_empty(&self) -> bool {
        #[cfg(feature = "cache")]
        if !self.invalidations.is_empty() {
            return false;
        }
        !self.has_jobs() && self.unordered.is_empty()
    }

    /// The effects of the outbox row.
    pub(super) fn in_row(&self) -> Vec<Effect> {
        let mut effects = Vec::new();
        #[cfg(feature = "cache")]
        effects.extend(self.invalidations.iter().cloned().map(Effect::Invalidate));
        #[cfg(feature = "queue")]
        effects.extend(self.puts.iter().cloned().map(Effect::Put));
        effects.extend(self.unordered.iter().cloned().map(Effect::Publish));
        effects
    }

    /// The encoded effects of the outbox row.
    pub(super) fn encoded(&self) -> Vec<u8> {
        format::encode(&self.in_row())
    }
}

#[cfg(any(feature = "cache", feature = "queue", feature = "stream"))]
fn of_another_keel(what: &str, name: &str) -> SqlError {
    SqlError::Effect(format!(
        "{what} `{name}` belongs to a Keel over another Redis (or prefix) than the one that began this unit of work, so its effect \
         would go to the wrong server; begin the unit of work with the Keel that opened the {what}"
    ))
}

fn check_name(what: &str, name: &str) -> Result<(), SqlError> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('\0') {
        let length = name.len();
        return Err(SqlError::Effect(format!(
            "the {what} of a message has 1 to {NAME_BYTES_MAX} bytes and no zero byte; this one has {length} bytes"
        )));
    }
    Ok(())
}
