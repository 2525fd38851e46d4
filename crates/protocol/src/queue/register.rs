//! The register of topics: their names, numbers of shards, and the settings that the command line needs.

use super::error::QueueError;
use super::scripts::GROWN;
use crate::rejection::Listing;
use crate::step::at_key;
use async_trait::async_trait;
use evenkeel_link::support::guard;
use evenkeel_link::{Link, LinkError};
use parking_lot::Mutex;
use redis::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The entry of a topic. Stored as JSON, so that an operator can read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicRecord {
    /// The number of its shards.
    pub shards: u16,
    /// The codec of its bodies ([`Codec::id`](crate::codec::Codec::id)).
    pub codec: u8,
    /// The number of attempts after a failed first one; `None`: unlimited.
    pub retries: Option<u16>,
    /// Whether a job without retries left is discarded instead of dead-lettered.
    pub discard_exhausted: bool,
    /// How long the completion record of a job with a caller's id is kept.
    pub id_window_ms: u64,
    /// Rows in a SQL database are the source of truth for its jobs (`Durability::Sql`), so they must not be changed in the store alone.
    /// Never reset: a program that does not know of it must not hide it from others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", rename = "is_judged")]
    pub row_decides: bool,
    /// Jobs that are due later than this are stored as rows only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon_ms: Option<u64>,
}

impl TopicRecord {
    /// The entry after a program with this entry has opened the topic.
    fn over(&self, held: &Self) -> Self {
        let row_decides = self.row_decides || held.row_decides && guard("sql_register_row_decides");
        Self { shards: held.shards, row_decides, ..self.clone() }
    }
}

/// The definition of a schedule. Every process that runs it follows the definition that was registered last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleRecord {
    /// The cron expression.
    pub cron: String,
    /// The time zone of the expression, by its IANA name.
    pub zone: String,
    /// What happens to missed ticks: `skip`, `one` or `all`.
    pub missed: String,
}

/// The register of the topics of a store.
#[async_trait]
pub trait TopicRegister: Send + Sync {
    /// Creates or updates the entry of a topic: its number of shards is kept, the other fields are overwritten. Two programs that
    /// create it concurrently get the number of shards that the first one stored.
    async fn register(&self, topic: &str, record: &TopicRecord) -> Result<TopicRecord, QueueError>;

    /// The entry of a topic; `None` if no program has opened it.
    async fn get(&self, topic: &str) -> Result<Option<TopicRecord>, QueueError>;

    /// Every topic that was ever opened, by name. One whose entry cannot be read hides no other.
    async fn all(&self) -> Result<Listing<(String, TopicRecord), QueueError>, QueueError>;

    /// The definition of a schedule of a topic, if a program has run it.
    async fn schedule(&self, topic: &str, name: &str) -> Result<Option<ScheduleRecord>, QueueError>;

    /// Replaces the definition of a schedule.
    async fn define(&self, topic: &str, name: &str, record: &ScheduleRecord) -> Result<(), QueueError>;

    /// The numbers of shards of a topic that has grown, as [`Topology`](super::topology::Topology) writes them.
    async fn grown(&self, topic: &str) -> Result<Option<String>, QueueError>;

    /// Compare-and-set: replaces the numbers by `next`, if they are `seen`; returns the stored ones.
    async fn grow(&self, topic: &str, seen: &str, next: &str) -> Result<String, QueueError>;
}

/// The register in Redis: one hash, topic → record.
pub struct RedisTopics {
    link: Link,
    key: String,
    /// One hash of the topics that have grown, topic → its numbers of shards.
    grown: String,
    /// One hash, topic and schedule → the schedule's definition.
    schedules: String,
}

impl RedisTopics {
    /// The register on this server.
    #[must_use]
    pub fn new(link: Link) -> Self {
        let key = |name: &str| format!("{}:q:{name}", link.prefix());
        let (topics, grown, schedules) = (key("topics"), key("grown"), key("schedules"));
        Self { link, key: topics, grown, schedules }
    }

    /// Sends a command for one of the registers.
    async fn at(&self, key: &str, cmd: &redis::Cmd) -> Result<Value, QueueError> {
        Ok(self.link.command(key.as_bytes(), cmd).await.map_err(|error| at_key(error, key))?)
    }

    async fn field(&self, key: &str, field: &str) -> Result<Option<Vec<u8>>, QueueError> {
        match self.at(key, redis::cmd("HGET").arg(key).arg(field)).await? {
            Value::Nil => Ok(None),
            Value::BulkString(text) => Ok(Some(text)),
            other => Err(unexpected(&other)),
        }
    }
}

#[async_trait]
impl TopicRegister for RedisTopics {
    async fn register(&self, topic: &str, record: &TopicRecord) -> Result<TopicRecord, QueueError> {
        let text = write(record)?;
        self.at(&self.key, redis::cmd("HSETNX").arg(&self.key).arg(topic).arg(&text)).await?;
        let held = self.get(topic).await?.unwrap_or_else(|| record.clone());
        let requested = record.over(&held);
        if requested != held {
            self.at(&self.key, redis::cmd("HSET").arg(&self.key).arg(topic).arg(write(&requested)?)).await?;
        }
        Ok(requested)
    }

    async fn get(&self, topic: &str) -> Result<Option<TopicRecord>, QueueError> {
        self.field(&self.key, topic).await?.map(|text| read(topic, &text)).transpose()
    }

    async fn all(&self) -> Result<Listing<(String, TopicRecord), QueueError>, QueueError> {
        let answer = self.at(&self.key, redis::cmd("HGETALL").arg(&self.key)).await?;
        let rows: BTreeMap<Vec<u8>, Vec<u8>> =
            redis::from_redis_value(answer).map_err(|error| LinkError::Unexpected(format!("HGETALL: {error}")))?;
        let mut topics = Listing::default();
        for (topic, text) in rows {
            let name = String::from_utf8_lossy(&topic).into_owned();
            let record = match name.as_bytes() == topic {
                true => read(&name, &text).map(|record| (name.clone(), record)),
                false => Err(unreadable(&name, "its name is not UTF-8")),
            };
            topics.note(name, record, |_| false)?;
        }
        Ok(topics)
    }

    async fn schedule(&self, topic: &str, name: &str) -> Result<Option<ScheduleRecord>, QueueError> {
        let text = self.field(&self.schedules, &format!("{topic}/{name}")).await?;
        // An entry that cannot be decoded is defined again.
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    async fn define(&self, topic: &str, name: &str, record: &ScheduleRecord) -> Result<(), QueueError> {
        let field = format!("{topic}/{name}");
        self.at(&self.schedules, redis::cmd("HSET").arg(&self.schedules).arg(field).arg(write(record)?)).await?;
        Ok(())
    }

    async fn grown(&self, topic: &str) -> Result<Option<String>, QueueError> {
        let entry = self.field(&self.grown, topic).await?;
        Ok(entry.map(|entry| String::from_utf8_lossy(&entry).into_owned()))
    }

    async fn grow(&self, topic: &str, seen: &str, next: &str) -> Result<String, QueueError> {
        let args = [topic.as_bytes(), seen.as_bytes(), next.as_bytes()];
        let held = self.link.run(&GROWN, &[self.grown.as_bytes()], &args).await;
        match held.map_err(|error| at_key(error, &self.grown))? {
            Value::BulkString(entry) => Ok(String::from_utf8_lossy(&entry).into_owned()),
            other => Err(unexpected(&other)),
        }
    }
}

fn write(record: &impl Serialize) -> Result<String, QueueError> {
    serde_json::to_string(record).map_err(|error| QueueError::Invalid(error.to_string()))
}

fn read(topic: &str, text: &[u8]) -> Result<TopicRecord, QueueError> {
    serde_json::from_slice(text).map_err(|error| unreadable(topic, &error.to_string()))
}

fn unreadable(topic: &str, why: &str) -> QueueError {
    let reason =
        format!("its entry in the register of topics cannot be decoded ({why}); was it written by a newer program?");
    QueueError::Settings { queue: topic.to_owned(), reason }
}

fn unexpected(value: &Value) -> QueueError {
    QueueError::Link(LinkError::Unexpected(format!("the register of topics: {value:?}")))
}

/// The register of an embedded store.
#[derive(Default)]
pub struct MemoryTopics {
    topics: Mutex<BTreeMap<String, TopicRecord>>,
    grown: Mutex<BTreeMap<String, String>>,
    schedules: Mutex<BTreeMap<(String, String), ScheduleRecord>>,
}

#[async_trait]
impl TopicRegister for MemoryTopics {
    async fn register(&self, topic: &str, record: &TopicRecord) -> Result<TopicRecord, QueueError> {
        let mut topics = self.topics.lock();
        let record = topics.get(topic).map_or_else(|| record.clone(), |held| record.over(held));
        topics.insert(topic.to_owned(), record.clone());
        Ok(record)
    }

    async fn get(&self, topic: &str) -> Result<Option<TopicRecord>, QueueError> {
        Ok(self.topics.lock().get(topic).cloned())
    }

    async fn all(&self) -> Result<Listing<(String, TopicRecord), QueueError>, QueueError> {
        let found = self.topics.lock().iter().map(|(topic, record)| (topic.clone(), record.clone())).collect();
        Ok(Listing { found, rejected: Vec::new() })
    }

    async fn schedule(&self, topic: &str, name: &str) -> Result<Option<ScheduleRecord>, QueueError> {
        let schedules = self.schedules.lock();
        Ok(schedules.get(&(topic.to_owned(), name.to_owned())).cloned())
    }

    async fn define(&self, topic: &str, name: &str, record: &ScheduleRecord) -> Result<(), QueueError> {
        let mut schedules = self.schedules.lock();
        schedules.insert((topic.to_owned(), name.to_owned()), record.clone());
        Ok(())
    }

    async fn grown(&self, topic: &str) -> Result<Option<String>, QueueError> {
        Ok(self.grown.lock().get(topic).cloned())
    }

    async fn grow(&self, topic: &str, seen: &str, next: &str) -> Result<String, QueueError> {
        let mut grown = self.grown.lock();
        let held = grown.entry(topic.to_owned()).or_default();
        if held == seen {
            next.clone_into(held);
        }
        Ok(held.clone())
    }
}
