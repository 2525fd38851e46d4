//! Streams in this process: the embedded backend, and the model that the script is compared with.

use super::steps::{Appended, Entry, Limit, Rule, StreamSteps};
use crate::sql::sink::Envelope;
use async_trait::async_trait;
use evenkeel_link::LinkError;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{SweepAt, guard};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Streams in this process. Cheap to clone; clones share them.
#[derive(Clone)]
pub struct MemoryStreams {
    streams: Arc<Mutex<HashMap<String, Stream>>>,
    clock: Clock,
}

#[derive(Default)]
struct Stream {
    entries: VecDeque<Entry>,
    /// Time in milliseconds and number of the newest entry.
    newest: (u64, u64),
    /// By source and key: the last sequence, and when it expires.
    last: HashMap<(String, String), (u64, u64)>,
    /// When the expired sequences are removed.
    sweep_at: SweepAt,
}

impl MemoryStreams {
    /// Creates an empty set of streams. Entry ids take their time from `clock`.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self { streams: Arc::default(), clock }
    }
}

impl Stream {
    fn append(&mut self, rule: Rule, message: &Envelope, now: u64) -> Appended {
        let ordering_key =
            message.order.as_ref().map(|order| ((message.source.clone(), order.key.clone()), order.sequence));
        if let Some((ordering_key, sequence)) = &ordering_key
            && self.last.get(ordering_key).is_some_and(|(last, until)| sequence <= last && *until > now)
            && guard("stream_sink_sequence")
        {
            return Appended::Seen;
        }
        let length = self.entries.len() as u64;
        if matches!(rule.limit, Limit::Refuse(limit) if length >= limit) && guard("stream_sink_full") {
            return Appended::Full;
        }
        self.newest = if now > self.newest.0 { (now, 0) } else { (self.newest.0, self.newest.1 + 1) };
        let entry_id = format!("{}-{}", self.newest.0, self.newest.1);
        self.entries.push_back(Entry { entry_id: entry_id.clone(), message: message.clone() });
        if let Limit::TrimOldest(limit) = rule.limit {
            while self.entries.len() as u64 > limit {
                self.entries.pop_front();
            }
        }
        if let Some((ordering_key, sequence)) = ordering_key {
            if self.sweep_at.is_due(self.last.len()) && guard("model_stream_sink_forgets") {
                self.last.retain(|_, (_, until)| *until > now);
                self.sweep_at.swept(self.last.len());
            }
            self.last.insert(ordering_key, (sequence, now.saturating_add(rule.deduplication_ms)));
        }
        Appended::Entry(entry_id)
    }
}

#[async_trait]
impl StreamSteps for MemoryStreams {
    async fn append(&self, rule: Rule, messages: &[Envelope]) -> Result<Vec<Appended>, LinkError> {
        let now = self.clock.unix_ms();
        let mut streams = self.streams.lock();
        let mut full = false;
        let append = |message: &Envelope| {
            if full {
                return Appended::Full;
            }
            let answer = streams.entry(message.topic.clone()).or_default().append(rule, message, now);
            full = answer == Appended::Full;
            answer
        };
        Ok(messages.iter().map(append).collect())
    }

    async fn entries(&self, topic: &str, after: Option<&str>, limit: usize) -> Result<Vec<Entry>, LinkError> {
        let streams = self.streams.lock();
        let Some(stream) = streams.get(topic) else { return Ok(Vec::new()) };
        let after = after.map(parts).unwrap_or_default();
        let later = stream.entries.iter().filter(|entry| parts(&entry.entry_id) > after);
        Ok(later.take(limit).cloned().collect())
    }
}

/// The two numbers of an entry id, by which ids are compared.
fn parts(entry_id: &str) -> (u64, u64) {
    let (ms, number) = entry_id.split_once('-').unwrap_or((entry_id, "0"));
    (ms.parse().unwrap_or(0), number.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{Limit, Rule, Stream, SweepAt};
    use crate::sql::sink::{Envelope, Order};
    use bytes::Bytes;

    /// On Redis they expire.
    // shows: hazard AL2c
    #[test]
    fn expired_sequences_are_removed() {
        let rule = Rule { limit: Limit::TrimOldest(1), deduplication_ms: 10 };
        let mut stream = Stream::default();
        for number in 0..10_000_u64 {
            let order = Some(Order { key: number.to_string(), sequence: 1 });
            let [source, id, topic] = ["shop", "1", "orders"].map(str::to_owned);
            let message = Envelope { source, id, topic, order, payload: Bytes::new(), headers: Vec::new() };
            stream.append(rule, &message, number);
        }
        assert!(stream.last.len() <= SweepAt::SWEEP_MIN, "{}", stream.last.len());
    }
}
