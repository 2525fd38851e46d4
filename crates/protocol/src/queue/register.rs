//! The register of topics: which there are, over how many shards, and what the command line must know of them.

use super::error::QueueError;
use crate::queue::redis::scripts::GROWN;
use async_trait::async_trait;
use evenkeel_link::support::guard;
use evenkeel_link::{Link, LinkError};
use parking_lot::{Mutex, MutexGuard};
use redis::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of a topic. Written as JSON, so that an operator can read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicRecord {
    /// How many shards its jobs are spread over.
    pub shards: u16,
    /// The codec of its bodies ([`Codec::id`](crate::codec::Codec::id)).
    pub codec: u8,
    /// How many attempts follow a failed first one; none: as many as it takes.
    pub retries: Option<u16>,
    /// Out of retries a job is gone instead of dead.
    pub discard_exhausted: bool,
    /// For how long a job with a caller's id is remembered after its end.
    pub id_window_ms: u64,
    /// Rows in a SQL database decide about its jobs (`Durability::Sql`), so nobody may change them in the store alone. Once so, for
    /// good: a program that does not know of it must not hide it from others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_judged: bool,
    /// Jobs that are due later than this are rows alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon_ms: Option<u64>,
}

impl TopicRecord {
    /// What the register says once a program that wants this has opened the topic.
    fn over(&self, held: &Self) -> Self {
        let is_judged = self.is_judged || held.is_judged && guard("sql_register_judged");
        Self { shards: held.shards, is_judged, ..self.clone() }
    }
}

/// How a schedule is defined. Whoever runs it follows the definition that was registered last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleRecord {
    /// The cron expression.
    pub cron: String,
    /// The time zone it is meant in, by its IANA name.
    pub zone: String,
    /// What becomes of missed ticks: `skip`, `one` or `all`.
    pub missed: String,
}

/// The register of the topics of a store.
#[async_trait]
pub trait TopicRegister: Send + Sync {
    /// Enters a topic, or finds it entered: its number of shards stays, the rest is as the last program to open it says. Two that
    /// enter it at once agree on what the first one wrote.
    async fn register(&self, topic: &str, record: &TopicRecord) -> Result<TopicRecord, QueueError>;

    /// What is known of a topic; `None` if no program has opened it.
    async fn get(&self, topic: &str) -> Result<Option<TopicRecord>, QueueError>;

    /// Every topic that was ever opened, by name.
    async fn all(&self) -> Result<Vec<(String, TopicRecord)>, QueueError>;

    /// How a schedule of a topic is defined, if any program has run it.
    async fn schedule(&self, topic: &str, name: &str) -> Result<Option<ScheduleRecord>, QueueError>;

    /// Defines a schedule anew.
    async fn define(&self, topic: &str, name: &str, record: &ScheduleRecord) -> Result<(), QueueError>;

    /// The numbers of shards of a topic that has grown, as [`Topology`](super::topology::Topology) writes them.
    async fn grown(&self, topic: &str) -> Result<Option<String>, QueueError>;

    /// Replaces them by `next`, if they are `seen`; answers what they are then.
    async fn grow(&self, topic: &str, seen: &str, next: &str) -> Result<String, QueueError>;
}

/// The register in Redis: one hash, topic → record.
pub struct RedisTopics {
    link: Link,
    key: String,
    /// Of topics that have grown: one hash, topic → its numbers of shards.
    grown: String,
    /// One hash, topic and schedule → its definition.
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

    async fn command(&self, cmd: &redis::Cmd) -> Result<Value, QueueError> {
        Ok(self.link.command(self.key.as_bytes(), cmd).await?)
    }
}

#[async_trait]
impl TopicRegister for RedisTopics {
    async fn register(&self, topic: &str, record: &TopicRecord) -> Result<TopicRecord, QueueError> {
        let text = write(record)?;
        self.command(redis::cmd("HSETNX").arg(&self.key).arg(topic).arg(&text)).await?;
        let held = self.get(topic).await?.unwrap_or_else(|| record.clone());
        let wanted = record.over(&held);
        if wanted != held {
            self.command(redis::cmd("HSET").arg(&self.key).arg(topic).arg(write(&wanted)?)).await?;
        }
        Ok(wanted)
    }

    async fn get(&self, topic: &str) -> Result<Option<TopicRecord>, QueueError> {
        match self.command(redis::cmd("HGET").arg(&self.key).arg(topic)).await? {
            Value::Nil => Ok(None),
            Value::BulkString(text) => read(topic, &text).map(Some),
            other => Err(unexpected(&other)),
        }
    }

    async fn all(&self) -> Result<Vec<(String, TopicRecord)>, QueueError> {
        let answer = self.command(redis::cmd("HGETALL").arg(&self.key)).await?;
        let rows: BTreeMap<String, Vec<u8>> =
            redis::from_redis_value(answer).map_err(|error| LinkError::Unexpected(format!("HGETALL: {error}")))?;
        rows.into_iter().map(|(topic, text)| read(&topic, &text).map(|record| (topic, record))).collect()
    }

    async fn schedule(&self, topic: &str, name: &str) -> Result<Option<ScheduleRecord>, QueueError> {
        let cmd = redis::cmd("HGET").arg(&self.schedules).arg(format!("{topic}/{name}")).clone();
        match self.link.command(self.schedules.as_bytes(), &cmd).await? {
            Value::Nil => Ok(None),
            // What cannot be read is defined anew.
            Value::BulkString(text) => Ok(serde_json::from_slice(&text).ok()),
            other => Err(unexpected(&other)),
        }
    }

    async fn define(&self, topic: &str, name: &str, record: &ScheduleRecord) -> Result<(), QueueError> {
        let text = serde_json::to_string(record).map_err(|error| QueueError::Invalid(error.to_string()))?;
        let cmd = redis::cmd("HSET").arg(&self.schedules).arg(format!("{topic}/{name}")).arg(text).clone();
        self.link.command(self.schedules.as_bytes(), &cmd).await?;
        Ok(())
    }

    async fn grown(&self, topic: &str) -> Result<Option<String>, QueueError> {
        match self.link.command(self.grown.as_bytes(), redis::cmd("HGET").arg(&self.grown).arg(topic)).await? {
            Value::Nil => Ok(None),
            Value::BulkString(entry) => Ok(Some(String::from_utf8_lossy(&entry).into_owned())),
            other => Err(unexpected(&other)),
        }
    }

    async fn grow(&self, topic: &str, seen: &str, next: &str) -> Result<String, QueueError> {
        let args = [topic.as_bytes(), seen.as_bytes(), next.as_bytes()];
        match self.link.run(&GROWN, &[self.grown.as_bytes()], &args).await? {
            Value::BulkString(entry) => Ok(String::from_utf8_lossy(&entry).into_owned()),
            other => Err(unexpected(&other)),
        }
    }
}

fn write(record: &TopicRecord) -> Result<String, QueueError> {
    serde_json::to_string(record).map_err(|error| QueueError::Invalid(error.to_string()))
}

fn read(topic: &str, text: &[u8]) -> Result<TopicRecord, QueueError> {
    serde_json::from_slice(text).map_err(|error| QueueError::Settings {
        queue: topic.to_owned(),
        reason: format!(
            "its entry in the register of topics cannot be read ({error}); was it written by a newer program?"
        ),
    })
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
        let mut topics = self.topics();
        let record = topics.get(topic).map_or_else(|| record.clone(), |held| record.over(held));
        topics.insert(topic.to_owned(), record.clone());
        Ok(record)
    }

    async fn get(&self, topic: &str) -> Result<Option<TopicRecord>, QueueError> {
        Ok(self.topics().get(topic).cloned())
    }

    async fn all(&self) -> Result<Vec<(String, TopicRecord)>, QueueError> {
        Ok(self.topics().iter().map(|(topic, record)| (topic.clone(), record.clone())).collect())
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

impl MemoryTopics {
    fn topics(&self) -> MutexGuard<'_, BTreeMap<String, TopicRecord>> {
        self.topics.lock()
    }
}
