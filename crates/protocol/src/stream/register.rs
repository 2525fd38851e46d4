//! The register of streams: their numbers of partitions, and their groups.
//!
//! It is in Redis as the streams are, so a flush removes both. Programs write again what they know. A stream that is registered in a database,
//! too, has the number of its incarnation here: a missing or another number says that Redis has lost the stream.

use super::error::StreamError;
use super::name::GroupName;
use super::steps::Mode;
use crate::rejection::Listing;
use crate::step::at_key;
use async_trait::async_trait;
use evenkeel_link::{Link, LinkError};
use parking_lot::Mutex;
use redis::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The entry of a stream. Stored as JSON, so that an operator can read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamRecord {
    /// The number of its partitions.
    pub partitions: u16,
    /// The codec of its entries ([`Codec::id`](crate::codec::Codec::id)).
    pub codec: u8,
    /// The incarnation of a stream that is registered in a database: it rises each time that Redis has lost the stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<u64>,
}

type Result<T> = std::result::Result<T, StreamError>;

/// The register of the streams of a store.
#[async_trait]
pub trait StreamRegister: Send + Sync {
    /// Creates the entry of a stream, unless it has one; returns the stored one.
    async fn register(&self, stream: &str, record: &StreamRecord) -> Result<StreamRecord>;

    /// Replaces the entry of a stream.
    async fn replace(&self, stream: &str, record: &StreamRecord) -> Result<()>;

    /// The entry of a stream; `None` if no program has opened it.
    async fn get(&self, stream: &str) -> Result<Option<StreamRecord>>;

    /// Every stream that was opened, by name. One whose entry cannot be read hides no other.
    async fn all(&self) -> Result<Listing<(String, StreamRecord), StreamError>>;

    /// Adds a group of a stream.
    async fn add_group(&self, stream: &str, group: &GroupName, mode: Mode) -> Result<()>;

    /// Removes a group of a stream: it no longer holds the log back. Returns whether it existed.
    async fn remove_group(&self, stream: &str, group: &GroupName) -> Result<bool>;

    /// The groups of a stream, by name. One with a name that no group can have hides no other.
    async fn groups(&self, stream: &str) -> Result<Listing<(GroupName, Mode), StreamError>>;
}

/// The register in Redis.
pub struct RedisStreams {
    link: Link,
    /// One hash, stream → record.
    streams: String,
    /// One hash, stream and group → mode.
    groups: String,
}

impl RedisStreams {
    /// The register on this server.
    #[must_use]
    pub fn new(link: Link) -> Self {
        let (streams, groups) = (format!("{}:s:streams", link.prefix()), format!("{}:s:groups", link.prefix()));
        Self { link, streams, groups }
    }

    async fn command(&self, key: &str, cmd: &redis::Cmd) -> Result<Value> {
        Ok(self.link.command(key.as_bytes(), cmd).await.map_err(|error| at_key(error, key))?)
    }

    /// The fields of a hash; those that are not UTF-8, which are another program's, as what they are nearest to.
    async fn hash(&self, key: &str) -> Result<Vec<(String, Vec<u8>)>> {
        let answer = self.command(key, redis::cmd("HGETALL").arg(key)).await?;
        let rows: BTreeMap<Vec<u8>, Vec<u8>> =
            redis::from_redis_value(answer).map_err(|error| LinkError::Unexpected(format!("HGETALL: {error}")))?;
        Ok(rows.into_iter().map(|(field, value)| (String::from_utf8_lossy(&field).into_owned(), value)).collect())
    }
}

#[async_trait]
impl StreamRegister for RedisStreams {
    async fn register(&self, stream: &str, record: &StreamRecord) -> Result<StreamRecord> {
        self.command(&self.streams, redis::cmd("HSETNX").arg(&self.streams).arg(stream).arg(text(record)?)).await?;
        Ok(self.get(stream).await?.unwrap_or_else(|| record.clone()))
    }

    async fn replace(&self, stream: &str, record: &StreamRecord) -> Result<()> {
        self.command(&self.streams, redis::cmd("HSET").arg(&self.streams).arg(stream).arg(text(record)?)).await?;
        Ok(())
    }

    async fn get(&self, stream: &str) -> Result<Option<StreamRecord>> {
        match self.command(&self.streams, redis::cmd("HGET").arg(&self.streams).arg(stream)).await? {
            Value::Nil => Ok(None),
            Value::BulkString(text) => read(stream, &text).map(Some),
            other => Err(LinkError::Unexpected(format!("the register of streams: {other:?}")).into()),
        }
    }

    async fn all(&self) -> Result<Listing<(String, StreamRecord), StreamError>> {
        let mut streams = Listing::default();
        for (stream, text) in self.hash(&self.streams).await? {
            let record = read(&stream, &text).map(|record| (stream.clone(), record));
            streams.note(stream, record, |_| false)?;
        }
        Ok(streams)
    }

    async fn add_group(&self, stream: &str, group: &GroupName, mode: Mode) -> Result<()> {
        let field = field(stream, group);
        self.command(&self.groups, redis::cmd("HSET").arg(&self.groups).arg(field).arg(text_of(mode))).await?;
        Ok(())
    }

    async fn remove_group(&self, stream: &str, group: &GroupName) -> Result<bool> {
        let removed = redis::cmd("HDEL").arg(&self.groups).arg(field(stream, group)).clone();
        Ok(self.command(&self.groups, &removed).await? == Value::Int(1))
    }

    async fn groups(&self, stream: &str) -> Result<Listing<(GroupName, Mode), StreamError>> {
        let rows = self.hash(&self.groups).await?;
        let of_stream =
            rows.iter().filter_map(|(field, mode)| Some((field.strip_prefix(stream)?.strip_prefix('/')?, mode)));
        let mut groups = Listing::default();
        for (group, mode) in of_stream {
            groups.note(group, GroupName::new(group).map(|group| (group, mode_of(mode))), |_| false)?;
        }
        Ok(groups)
    }
}

/// Names have no slash.
fn field(stream: &str, group: &GroupName) -> String {
    format!("{stream}/{group}")
}

fn text_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Entry => "entry",
        Mode::Partition => "partition",
    }
}

fn mode_of(text: &[u8]) -> Mode {
    if text == b"partition" { Mode::Partition } else { Mode::Entry }
}

fn text(record: &StreamRecord) -> Result<String> {
    serde_json::to_string(record).map_err(|error| StreamError::Invalid(error.to_string()))
}

fn read(stream: &str, text: &[u8]) -> Result<StreamRecord> {
    serde_json::from_slice(text).map_err(|error| StreamError::Settings {
        stream: stream.to_owned(),
        reason: format!(
            "its entry in the register of streams cannot be decoded ({error}); was it written by a newer program?"
        ),
    })
}

/// The register of an embedded store.
#[derive(Default)]
pub struct MemoryStreams {
    streams: Mutex<BTreeMap<String, StreamRecord>>,
    groups: Mutex<BTreeMap<(String, GroupName), Mode>>,
}

#[async_trait]
impl StreamRegister for MemoryStreams {
    async fn register(&self, stream: &str, record: &StreamRecord) -> Result<StreamRecord> {
        Ok(self.streams.lock().entry(stream.to_owned()).or_insert_with(|| record.clone()).clone())
    }

    async fn replace(&self, stream: &str, record: &StreamRecord) -> Result<()> {
        self.streams.lock().insert(stream.to_owned(), record.clone());
        Ok(())
    }

    async fn get(&self, stream: &str) -> Result<Option<StreamRecord>> {
        Ok(self.streams.lock().get(stream).cloned())
    }

    async fn all(&self) -> Result<Listing<(String, StreamRecord), StreamError>> {
        let found = self.streams.lock().iter().map(|(stream, record)| (stream.clone(), record.clone())).collect();
        Ok(Listing { found, rejected: Vec::new() })
    }

    async fn add_group(&self, stream: &str, group: &GroupName, mode: Mode) -> Result<()> {
        self.groups.lock().insert((stream.to_owned(), group.clone()), mode);
        Ok(())
    }

    async fn remove_group(&self, stream: &str, group: &GroupName) -> Result<bool> {
        Ok(self.groups.lock().remove(&(stream.to_owned(), group.clone())).is_some())
    }

    async fn groups(&self, stream: &str) -> Result<Listing<(GroupName, Mode), StreamError>> {
        let groups = self.groups.lock();
        let of_stream = groups.iter().filter(|((of, _), _)| of == stream);
        let found = of_stream.map(|((_, group), mode)| (group.clone(), *mode)).collect();
        Ok(Listing { found, rejected: Vec::new() })
    }
}
