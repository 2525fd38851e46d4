//! Redis streams as a sink: one stream per topic, which accepts each sequence of a key once.
//!
//! The script compares the sequence of a message with the last one of its key in the same step that appends it, so it drops late
//! copies (after a lost reply, from two relays, or from a relay that was paused). A stream is trimmed only with
//! [`Limit::TrimOldest`].

#[cfg_attr(not(feature = "testing"), expect(unreachable_pub, reason = "`testing` has it"))]
pub(crate) mod memory;
#[cfg_attr(not(feature = "testing"), expect(unreachable_pub, reason = "`testing` has it"))]
pub(crate) mod redis;
#[cfg_attr(not(feature = "testing"), expect(unreachable_pub, reason = "`testing` has it"))]
pub(crate) mod steps;

pub(crate) use redis::SCRIPTS;
pub use steps::{Entry, Limit};

use super::{Confirmed, Envelope, Sink, SinkError};
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{guard, ms};
use evenkeel_link::{Link, LinkError};
use futures_util::future::join_all;
use memory::MemoryStreams;
use redis::RedisStreams;
use std::sync::Arc;
use std::time::Duration;
use steps::{Appended, MESSAGES_MAX, Rule, SEQUENCE_MAX, StreamSteps};

/// A week: longer than an outbox is expected to lag behind.
const DEDUPLICATION_WINDOW: Duration = Duration::from_secs(7 * 24 * 3600);
/// Copies do not arrive later than this, and Redis limits expiry times.
const DEDUPLICATION_WINDOW_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The maximum number of headers of one message: the script passes them to `XADD` in one call.
const HEADERS_MAX: usize = 500;

/// A sink whose topics are Redis streams (or, for an in-memory keel, queues in this process). Cheap to clone.
///
/// Guarantee: no sequence of a key is in the stream twice, and the messages of a key are in order, as long as a copy does not arrive
/// later than [`deduplication_window`](Self::deduplication_window) and Redis keeps what it has acknowledged.
/// Not guaranteed: that an unordered message is in the stream only once; that anything survives the loss of Redis's data.
#[derive(Clone)]
pub struct StreamSink {
    streams: Arc<dyn StreamSteps>,
    rule: Rule,
}

impl StreamSink {
    /// Streams in this process, which belong to this sink and its clones.
    pub(crate) fn memory(clock: &Clock) -> Self {
        Self::over(Arc::new(MemoryStreams::new(clock.clone())))
    }

    /// Streams over the given link, which must have loaded the scripts of a keel.
    #[must_use]
    pub fn on(link: Link) -> Self {
        Self::over(Arc::new(RedisStreams::new(link)))
    }

    fn over(streams: Arc<dyn StreamSteps>) -> Self {
        Self { streams, rule: Rule { limit: Limit::default(), deduplication_ms: ms(DEDUPLICATION_WINDOW) } }
    }

    /// Limits the length of a stream. Default: no limit; the consumers trim the stream.
    #[must_use]
    pub fn limit(mut self, limit: Limit) -> Self {
        self.rule.limit = limit;
        self
    }

    /// How long the last sequence of a key is kept after its last message; limited to ten years. Default: a week. It must exceed the
    /// longest delay of a copy, and each key takes about 150 bytes for that time.
    #[must_use]
    pub fn deduplication_window(mut self, span: Duration) -> Self {
        let span = if guard("stream_sink_deduplication_bounded") { span.min(DEDUPLICATION_WINDOW_MAX) } else { span };
        self.rule.deduplication_ms = ms(span).max(1);
        self
    }

    /// Up to `limit` entries of a topic after the entry `after`, oldest first.
    ///
    /// # Errors
    /// [`LinkError`]; [`LinkError::Unexpected`] if an entry was not written by a stream sink.
    pub async fn entries(&self, topic: &str, after: Option<&str>, limit: usize) -> Result<Vec<Entry>, LinkError> {
        self.streams.entries(topic, after, limit).await
    }

    /// Appends messages of one topic, given with their indices in the call; stops at the first that was not appended.
    async fn append(&self, messages: Vec<(usize, &Envelope)>) -> Vec<(usize, Result<Confirmed, SinkError>)> {
        let mut answers = Vec::with_capacity(messages.len());
        let mut failure: Option<SinkError> = None;
        for part in messages.chunks(MESSAGES_MAX) {
            let places = part.iter().map(|(place, _)| *place);
            if let Some(error) = &failure {
                answers.extend(places.map(|place| (place, Err(error.clone()))));
                continue;
            }
            let owned: Vec<Envelope> = part.iter().map(|(_, message)| (*message).clone()).collect();
            let results: Vec<_> = match self.streams.append(self.rule, &owned).await {
                Ok(appended) => appended.iter().map(confirmed).collect(),
                Err(error) => vec![Err(refused(&error)); owned.len()],
            };
            failure = results.iter().find_map(|result| result.clone().err());
            answers.extend(places.zip(results));
        }
        answers
    }
}

impl Sink for StreamSink {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        let answer = self.publish_all(std::slice::from_ref(message)).await.pop();
        answer.unwrap_or_else(|| Err(SinkError::Retry("the stream returned no result".to_owned())))
    }

    async fn publish_all(&self, messages: &[Envelope]) -> Vec<Result<Confirmed, SinkError>> {
        let mut answers: Vec<Result<Confirmed, SinkError>> = vec![Err(SinkError::Held); messages.len()];
        let mut poisoned = Vec::new();
        let mut topics: Vec<Vec<(usize, &Envelope)>> = Vec::new();
        for (place, message) in messages.iter().enumerate() {
            if message.ordering_key().is_some_and(|ordering_key| poisoned.contains(&ordering_key)) {
                continue;
            }
            if let Err(error) = writable(message) {
                answers[place] = Err(error);
                poisoned.extend(message.ordering_key());
                continue;
            }
            match topics.iter_mut().find(|topic| topic[0].1.topic == message.topic) {
                Some(topic) => topic.push((place, message)),
                None => topics.push(vec![(place, message)]),
            }
        }
        for (place, answer) in join_all(topics.into_iter().map(|topic| self.append(topic))).await.into_iter().flatten()
        {
            answers[place] = answer;
        }
        answers
    }
}

/// Rejects a message that no attempt could write.
fn writable(message: &Envelope) -> Result<(), SinkError> {
    if message.order.as_ref().is_some_and(|order| order.sequence >= SEQUENCE_MAX) {
        return Err(SinkError::Poison(format!("its sequence is {SEQUENCE_MAX} or more")));
    }
    if message.headers.len() > HEADERS_MAX {
        return Err(SinkError::Poison(format!("it has more than {HEADERS_MAX} headers")));
    }
    Ok(())
}

fn confirmed(appended: &Appended) -> Result<Confirmed, SinkError> {
    match appended {
        Appended::Entry(_) => Ok(Confirmed::Accepted),
        Appended::Seen => Ok(Confirmed::Duplicate),
        Appended::Full => {
            Err(SinkError::Busy("the stream has reached its maximum length (`Limit::Refuse`)".to_owned()))
        }
    }
}

/// A permanent error is specific to the topic (another type under its key, no permission); any other error concerns the server.
fn refused(error: &LinkError) -> SinkError {
    if error.is_retryable() { SinkError::Unavailable(error.to_string()) } else { SinkError::Retry(error.to_string()) }
}
