//! The steps on Redis: a script, and `XRANGE` for reading.

use super::steps::{Appended, Entry, Limit, Rule, StreamSteps};
use crate::sql::sink::{Envelope, Order};
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::{Link, LinkError, Script};
use redis::Value;

static APPEND: Script = Script::with_flags("append-1", "", include_str!("../scripts/append-1.lua"));

/// All scripts, to be loaded in every epoch.
pub(crate) const SCRIPTS: [&Script; 1] = [&APPEND];

/// The largest integer of Redis.
const INTEGER_MAX: u64 = i64::MAX as u64;

/// The prefix of a header's name among the fields of an entry.
const HEADER: &str = "h:";

/// Streams on Redis. Cheap to clone.
#[derive(Clone)]
pub struct RedisStreams {
    link: Link,
}

impl RedisStreams {
    /// Runs the steps over this link.
    #[must_use]
    pub fn new(link: Link) -> Self {
        Self { link }
    }

    /// The key of a topic's stream: `{ns:e:topic}` (docs/keyspace.md).
    #[must_use]
    pub fn key(&self, topic: &str) -> String {
        // A closing brace would end the hash tag.
        format!("{{{}:e:{}}}", self.link.prefix(), topic.replace('%', "%25").replace('}', "%7D"))
    }
}

#[async_trait]
impl StreamSteps for RedisStreams {
    async fn append(&self, rule: Rule, messages: &[Envelope]) -> Result<Vec<Appended>, LinkError> {
        let Some(first) = messages.first() else { return Ok(Vec::new()) };
        let (name, length) = match rule.limit {
            Limit::Unlimited => ("", 0),
            Limit::Refuse(length) => ("refuse", length),
            Limit::TrimOldest(length) => ("trim", length),
        };
        let mut args = vec![Bytes::from(name), number(length.min(INTEGER_MAX)), number(rule.deduplication_ms)];
        messages.iter().for_each(|message| encode(message, &mut args));
        let args: Vec<&[u8]> = args.iter().map(Bytes::as_ref).collect();
        let answers: Vec<String> = self.link.run(&APPEND, &[self.key(&first.topic).as_bytes()], &args).await?;
        let answer = |answer: String| match answer.as_str() {
            "seen" => Appended::Seen,
            "full" => Appended::Full,
            _ => Appended::Entry(answer),
        };
        Ok(answers.into_iter().map(answer).collect())
    }

    async fn entries(&self, topic: &str, after: Option<&str>, limit: usize) -> Result<Vec<Entry>, LinkError> {
        let key = self.key(topic);
        let mut cmd = redis::cmd("XRANGE");
        cmd.arg(&key)
            .arg(after.map_or_else(|| "-".to_owned(), |id| format!("({id}")))
            .arg("+")
            .arg("COUNT")
            .arg((limit as u64).min(INTEGER_MAX));
        let reply = match self.link.command(key.as_bytes(), &cmd).await? {
            Value::Nil => Vec::new(),
            value => pairs(value)?,
        };
        reply.into_iter().map(|(entry_id, fields)| decode(entry_id, fields, topic)).collect()
    }
}

fn number(number: u64) -> Bytes {
    Bytes::from(number.to_string())
}

fn encode(message: &Envelope, args: &mut Vec<Bytes>) {
    let (ordering_key, sequence) = match &message.order {
        // The length of the source keeps source and key apart.
        Some(Order { key, sequence }) => {
            (Bytes::from(format!("{}:{}:{key}", message.source.len(), message.source)), number(*sequence))
        }
        None => (Bytes::new(), Bytes::new()),
    };
    args.extend([ordering_key, sequence.clone()]);
    let text = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    let mut words = vec![text("id"), text(&message.id), text("source"), text(&message.source)];
    if let Some(order) = &message.order {
        words.extend([text("key"), text(&order.key), text("sequence"), sequence]);
    }
    words.extend([text("payload"), message.payload.clone()]);
    for (name, value) in &message.headers {
        words.extend([Bytes::from(format!("{HEADER}{name}")), text(value)]);
    }
    args.push(number(words.len() as u64));
    args.append(&mut words);
}

/// An entry's id and its fields, as Redis returns them.
type Raw = (String, Vec<(String, Bytes)>);

fn pairs(value: Value) -> Result<Vec<Raw>, LinkError> {
    redis::from_redis_value(value).map_err(|error| LinkError::Unexpected(error.to_string()))
}

fn decode(entry_id: String, fields: Vec<(String, Bytes)>, topic: &str) -> Result<Entry, LinkError> {
    let mut message = Envelope {
        source: String::new(),
        id: String::new(),
        topic: topic.to_owned(),
        order: None,
        payload: Bytes::new(),
        headers: Vec::new(),
    };
    let (mut key, mut sequence) = (None, None);
    for (name, value) in fields {
        let text = String::from_utf8_lossy(&value).into_owned();
        match name.as_str() {
            "id" => message.id = text,
            "source" => message.source = text,
            "key" => key = Some(text),
            "sequence" => sequence = text.parse().ok(),
            "payload" => message.payload = value,
            _ => match name.strip_prefix(HEADER) {
                Some(header) => message.headers.push((header.to_owned(), text)),
                None => return Err(LinkError::Unexpected(format!("the entry {entry_id} has a field {name}"))),
            },
        }
    }
    message.order = key.zip(sequence).map(|(key, sequence)| Order { key, sequence });
    Ok(Entry { entry_id, message })
}
