//! The sink of the appends of units of work: they go to the streams of the keel, each sequence of a key once.

use super::{Confirmed, Envelope, Sink, SinkError};
use crate::stream::{Base, CALL_BYTES_MAX, Streams};
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::stream::StreamError;
use evenkeel_protocol::stream::name::{Partition, partition_of, producer_of};
use evenkeel_protocol::stream::register::StreamRecord;
use evenkeel_protocol::stream::steps::{Append, Appended, ITEMS_MAX, NewEntry, Sequenced};
use futures_util::future::join_all;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use super::TOPIC_PREFIX;

/// The header with the number of partitions of the stream.
pub(crate) const PARTITIONS: &str = "partitions";
/// The header with the codec of the entry.
pub(crate) const CODEC: &str = "codec";

/// The header with the incarnation of a stream that is registered in the database of the outbox.
pub(crate) const INCARNATION: &str = "incarnation";

/// How long the last sequence of a key is kept after its last entry. A week: longer than an outbox is expected to lag behind.
const PRODUCER_WINDOW: Duration = Duration::from_secs(7 * 24 * 3600);

/// How often a call is made in which a partition was missing, or a sequence had a gap.
const ATTEMPTS: u32 = 4;

/// The streams of a keel as a sink.
pub(crate) struct StreamAppends {
    streams: Arc<Streams>,
}

/// The partition to which entries go.
type Place = (String, u16);

impl StreamAppends {
    pub(crate) fn new(streams: &Arc<Streams>) -> Self {
        Self { streams: Arc::clone(streams) }
    }

    /// The stream of a message. One that Redis has lost is registered again.
    async fn base(&self, message: &Envelope) -> Result<Base, SinkError> {
        let number = |name: &str| header(message, name)?.parse::<u16>().ok();
        let codec = number(CODEC).and_then(|codec| u8::try_from(codec).ok());
        let (Some(partitions), Some(codec), Some(name)) =
            (number(PARTITIONS), codec, message.topic.strip_prefix(TOPIC_PREFIX))
        else {
            return Err(SinkError::Poison("the message is not an append of a unit of work".to_owned()));
        };
        // Checked before anything is stored under the name.
        Partition::new("", name, 0).map_err(|error| refused(&error))?;
        let record = StreamRecord { partitions, codec, incarnation: None };
        let register = self.streams.store.register();
        let record = register.register(name, &record).await.map_err(|error| refused(&error))?;
        Base::new(&self.streams, name, record).map_err(|error| refused(&error))
    }

    /// Appends the messages of one partition.
    async fn append(
        &self,
        base: &Base,
        partition: u16,
        messages: &[(usize, &Envelope)],
    ) -> Vec<(usize, Result<Confirmed, SinkError>)> {
        let mut answers = Vec::with_capacity(messages.len());
        for part in in_calls(messages) {
            let places = part.iter().map(|(place, _)| *place);
            let (entries, wrong): (Vec<_>, Vec<_>) =
                part.iter().map(|(_, message)| entry(message)).partition(Result::is_ok);
            let result = match wrong.into_iter().find_map(Result::err) {
                Some(error) => Err(error),
                None => {
                    let is_registered = part.iter().any(|(_, message)| header(message, INCARNATION).is_some());
                    self.call(base, partition, entries.into_iter().flatten().collect(), is_registered).await
                }
            };
            match result {
                Ok(results) => answers.extend(places.zip(results.into_iter().map(Ok))),
                Err(error) => {
                    answers.extend(places.map(|place| (place, Err(error.clone()))));
                    // The chunks that follow may have later entries of the same keys.
                    let rest = messages.iter().skip(answers.len()).map(|(place, _)| (*place, Err(SinkError::Held)));
                    answers.extend(rest.collect::<Vec<_>>());
                    return answers;
                }
            }
        }
        answers
    }

    /// One call, repeated if Redis has lost the partition, or the entries between the last one of a key and its next one.
    async fn call(
        &self,
        base: &Base,
        partition: u16,
        entries: Vec<NewEntry>,
        is_registered: bool,
    ) -> Result<Vec<Confirmed>, SinkError> {
        let place = base
            .partitions
            .get(usize::from(partition))
            .ok_or_else(|| SinkError::Retry(format!("stream {:?} has no partition {partition}", base.name)))?;
        let mut append = Append { entries, entries_max: None, producer_window_ms: ms(PRODUCER_WINDOW) };
        let mut confirmed: Vec<Option<Confirmed>> = vec![None; append.entries.len()];
        for _ in 0..ATTEMPTS {
            let Some(replies) = base.store.run(place, &append).await.map_err(|error| refused(&error))? else {
                base.create_again(place).await.map_err(|error| refused(&error))?;
                if is_registered && guard("stream_kept_entries_first") {
                    // The relay reads the keys again: their kept entries come before these.
                    return Err(SinkError::Busy(
                        "Redis had lost the stream; its entries are sent again in order".to_owned(),
                    ));
                }
                continue;
            };
            let mut corrected = HashSet::new();
            for ((reply, entry), confirmed) in replies.into_iter().zip(&mut append.entries).zip(&mut confirmed) {
                match reply {
                    Appended::Appended(_) => *confirmed = Some(Confirmed::Accepted),
                    // An entry of an earlier attempt of this call has its answer.
                    Appended::Duplicate(_) => *confirmed = confirmed.or(Some(Confirmed::Duplicate)),
                    Appended::OutOfOrder { last } => follow(base, entry, last, &mut corrected),
                    Appended::Full => return Err(SinkError::Busy("the partition is full".to_owned())),
                }
            }
            if confirmed.iter().all(Option::is_some) {
                return Ok(confirmed.into_iter().flatten().collect());
            }
        }
        Err(SinkError::Retry("the partition was missing, although it was created again".to_owned()))
    }
}

/// The messages of one call each: at most as many, and as large together, as a call may be.
fn in_calls<'a>(messages: &'a [(usize, &'a Envelope)]) -> impl Iterator<Item = &'a [(usize, &'a Envelope)]> {
    let mut rest = messages;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |(_, message): &&(usize, &Envelope)| {
            let is_first = bytes == 0;
            bytes += message.payload.len().max(1);
            is_first || bytes <= CALL_BYTES_MAX
        };
        let count = rest.iter().take(ITEMS_MAX).take_while(fits).count();
        let (part, later) = rest.split_at(count);
        rest = later;
        (!part.is_empty()).then_some(part)
    })
}

/// Lets an entry follow the last one of its key that the log has. The relay sends a key without gaps, so Redis has lost those between, or an
/// operator has skipped them. Only the first entry of a key in a call: the later ones follow it.
fn follow(base: &Base, entry: &mut NewEntry, last: u64, corrected: &mut HashSet<bytes::Bytes>) {
    let Some(sequenced) = entry.sequenced.as_mut().filter(|_| guard("stream_append_gap_closed")) else { return };
    if !corrected.insert(entry.key.clone()) {
        return;
    }
    tracing::warn!(
        stream = %base.name, key = %String::from_utf8_lossy(&entry.key), last, next = sequenced.sequence,
        "entries of a key are missing in the log: Redis has lost them, or an operator has skipped them"
    );
    sequenced.previous = last;
}

impl Sink for StreamAppends {
    async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        let answer = self.publish_all(std::slice::from_ref(message)).await.pop();
        answer.unwrap_or_else(|| Err(SinkError::Retry("the stream returned no result".to_owned())))
    }

    async fn publish_all(&self, messages: &[Envelope]) -> Vec<Result<Confirmed, SinkError>> {
        let mut answers: Vec<Result<Confirmed, SinkError>> = vec![Err(SinkError::Held); messages.len()];
        let mut bases: BTreeMap<&str, Result<Base, SinkError>> = BTreeMap::new();
        let mut parts: BTreeMap<Place, Vec<(usize, &Envelope)>> = BTreeMap::new();
        for (place, message) in messages.iter().enumerate() {
            let topic = message.topic.as_str();
            if !bases.contains_key(topic) {
                bases.insert(topic, self.base(message).await);
            }
            match bases.get(topic) {
                Some(Ok(base)) => {
                    let key = message.order.as_ref().map(|order| order.key.as_bytes()).unwrap_or_default();
                    let partition = partition_of(key, base.record.partitions);
                    parts.entry((topic.to_owned(), partition)).or_default().push((place, message));
                }
                Some(Err(error)) => answers[place] = Err(error.clone()),
                None => {}
            }
        }
        let calls = parts.iter().filter_map(|((topic, partition), part)| {
            let base = bases.get(topic.as_str())?.as_ref().ok()?;
            Some(self.append(base, *partition, part))
        });
        for (place, answer) in join_all(calls).await.into_iter().flatten() {
            answers[place] = answer;
        }
        answers
    }
}

fn header<'a>(message: &'a Envelope, name: &str) -> Option<&'a str> {
    message.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
}

/// The entry of a message. Its producer is the outbox that has numbered the entries of the key.
fn entry(message: &Envelope) -> Result<NewEntry, SinkError> {
    let Some(order) = &message.order else {
        return Err(SinkError::Poison("an append of a unit of work has a key".to_owned()));
    };
    let key = order.key.as_bytes();
    // After a loss entries are sent again under another name: a relay that was stopped may send a later entry of the key first, and they would
    // count as duplicates.
    let outbox = match header(message, INCARNATION).filter(|_| guard("stream_incarnations_are_producers")) {
        Some(incarnation) => format!("outbox/{}/{incarnation}", message.source),
        None => format!("outbox/{}", message.source),
    };
    let producer = producer_of(outbox.as_bytes(), key);
    let sequenced = Sequenced { producer, sequence: order.sequence, previous: order.sequence.saturating_sub(1) };
    Ok(NewEntry {
        key: bytes::Bytes::copy_from_slice(key),
        record: message.payload.clone(),
        sequenced: Some(sequenced),
    })
}

/// A retryable error concerns the server, any other one the stream or the entry.
fn refused(error: &StreamError) -> SinkError {
    match error {
        StreamError::Link(_) | StreamError::Database { .. } if error.is_retryable() => {
            SinkError::Unavailable(error.to_string())
        }
        StreamError::TooLarge { .. } | StreamError::Invalid(_) => SinkError::Poison(error.to_string()),
        _ => SinkError::Retry(error.to_string()),
    }
}
