//! NATS JetStream as a sink: a message is confirmed when the stream has acknowledged it.

use super::{Confirmed, Envelope, Sink, SinkError};
use async_nats::header::{HeaderMap, HeaderName, HeaderValue};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, Context};
use futures_util::future::join_all;
use std::str::FromStr;
use std::time::Duration;

/// The time limit of an acknowledgement.
const ACK_TIMEOUT: Duration = Duration::from_secs(5);

/// A sink whose topics are subjects of NATS JetStream. Cheap to clone. A stream for the subjects must exist: create it with the size,
/// replicas and `duplicate_window` that you need; this sink creates none.
///
/// Each message carries `Nats-Msg-Id` (source, key and sequence; or its id) and the headers `Evenkeel-Id`, `Evenkeel-Source`,
/// `Evenkeel-Key` and `Evenkeel-Sequence`.
///
/// Guarantee: messages of one key are acknowledged in order; the server drops a copy within the stream's `duplicate_window`. Not
/// guaranteed: that a later copy is dropped. A consumer that must detect it compares `Evenkeel-Sequence` with the last one of its
/// `Evenkeel-Key`.
#[derive(Clone)]
pub struct NatsSink {
    context: Context,
    prefix: String,
}

impl NatsSink {
    /// Uses a client that the program has connected. The sink waits for an acknowledgement for up to 5 s.
    #[must_use]
    pub fn new(client: async_nats::Client) -> Self {
        let mut context = jetstream::new(client);
        context.set_timeout(ACK_TIMEOUT);
        Self { context, prefix: String::new() }
    }

    /// Connects to `address` (`nats://[user:password@]host:port`), and keeps trying in the background if that fails.
    ///
    /// # Errors
    /// [`SinkError::Unavailable`] if the address cannot be parsed.
    pub async fn connect(address: &str) -> Result<Self, SinkError> {
        let options = async_nats::ConnectOptions::new().retry_on_initial_connect();
        let client = options.connect(address).await.map_err(|error| SinkError::Unavailable(error.to_string()))?;
        Ok(Self::new(client))
    }

    /// The prefix of the topic in the subject, such as `shop.`.
    #[must_use]
    pub fn subject_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sends messages that must stay in order, with their indices in the call: each is acknowledged before the next is sent.
    async fn publish_in_order(&self, messages: Vec<(usize, &Envelope)>) -> Vec<(usize, Result<Confirmed, SinkError>)> {
        let mut answers = Vec::with_capacity(messages.len());
        let mut failed = false;
        for (place, message) in messages {
            let answer = if failed { Err(SinkError::Held) } else { self.publish(message).await };
            failed |= answer.is_err();
            answers.push((place, answer));
        }
        answers
    }
}

impl Sink for NatsSink {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        let subject = format!("{}{}", self.prefix, message.topic);
        if subject.is_empty() || subject.contains(char::is_whitespace) {
            return Err(SinkError::Poison(format!("{subject:?} is not a valid NATS subject")));
        }
        let publish = PublishMessage::build().payload(message.payload.clone()).headers(headers(message)?);
        let sent = self.context.send_publish(subject, publish).await.map_err(|error| refused(&error))?;
        let acknowledged = sent.await.map_err(|error| refused(&error))?;
        Ok(if acknowledged.duplicate { Confirmed::Duplicate } else { Confirmed::Accepted })
    }

    async fn publish_all(&self, messages: &[Envelope]) -> Vec<Result<Confirmed, SinkError>> {
        let mut groups: Vec<Vec<(usize, &Envelope)>> = Vec::new();
        for (place, message) in messages.iter().enumerate() {
            let key = message.ordering_key();
            let same = key.and_then(|_| groups.iter_mut().find(|members| members[0].1.ordering_key() == key));
            match same {
                Some(members) => members.push((place, message)),
                None => groups.push(vec![(place, message)]),
            }
        }
        let mut answers = vec![Err(SinkError::Held); messages.len()];
        for (place, answer) in
            join_all(groups.into_iter().map(|group| self.publish_in_order(group))).await.into_iter().flatten()
        {
            answers[place] = answer;
        }
        answers
    }
}

/// The id by which the server drops copies, and the headers that consumers need to do the same.
fn headers(message: &Envelope) -> Result<HeaderMap, SinkError> {
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &str| {
        let poison = |what: &str| SinkError::Poison(format!("its header {name} {what} cannot be written to NATS"));
        let name = HeaderName::from_str(name).map_err(|_| poison("has a name that"))?;
        let value = HeaderValue::from_str(value).map_err(|_| poison("has a value that"))?;
        headers.append(name, value);
        Ok(())
    };
    for (name, value) in &message.headers {
        add(name, value)?;
    }
    add("Evenkeel-Id", &message.id)?;
    add("Evenkeel-Source", &message.source)?;
    match &message.order {
        Some(order) => {
            let sequence = order.sequence.to_string();
            add("Evenkeel-Key", &order.key)?;
            add("Evenkeel-Sequence", &sequence)?;
            // One stream may store several topics; the length of the topic keeps topic and key apart.
            let topic = &message.topic;
            add("Nats-Msg-Id", &format!("{}/{}/{topic}/{}/{sequence}", message.source, topic.len(), order.key))?;
        }
        None => add("Nats-Msg-Id", &message.id)?,
    }
    Ok(headers)
}

fn refused(error: &PublishError) -> SinkError {
    let text = error.to_string();
    match error.kind() {
        PublishErrorKind::MaxPayloadExceeded => SinkError::Poison(text),
        PublishErrorKind::StreamNotFound => SinkError::Busy(format!("{text}; create a stream for the subject")),
        PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe | PublishErrorKind::MaxAckPending => {
            SinkError::Unavailable(text)
        }
        _ => SinkError::Retry(text),
    }
}
