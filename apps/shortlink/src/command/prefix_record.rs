//! [`PrefixRecord`]: a database's key prefix, recorded in Redis for instances that start while the database is unreachable.
//!
//! The prefix is derived from a key in the database, so an instance that cannot reach the database cannot compute where its
//! redirects are in Redis. Every instance that has the database open records the prefix in Redis, under the database's address,
//! every minute.

use crate::domain::Code;
use crate::store::{DatabaseUrl, fingerprint};
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkError, LinkOptions, LinkState};
use jiff::{SignedDuration, Timestamp};
use redis::{Cmd, FromRedisValue, Value};
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::{debug, warn};
use web::{signed, timestamp};

/// How often an instance renews the record.
const RENEW_EVERY: Duration = Duration::from_secs(60);

/// Pause after a failed attempt, and between two attempts to read.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a record is valid. Redirects live in Redis for minutes, so an older record is useless.
const VALID_FOR: SignedDuration = SignedDuration::from_hours(24);

/// The record of one database address. In Redis it is a hash: database name → when an instance last had it open at the address.
#[derive(Clone, Debug)]
pub(super) struct PrefixRecord {
    /// The prefix that all databases share.
    base: String,
    key: Vec<u8>,
}

/// A valid record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownPrefix {
    /// The prefix of the database's keys.
    pub(super) prefix: String,
    /// When an instance last had the database open at the address.
    pub(super) as_of: Timestamp,
}

impl PrefixRecord {
    /// The record of `database` in the Redis of `options`; `None` for SQLite, whose file is always reachable.
    ///
    /// # Errors
    /// The URL cannot be parsed.
    pub(super) fn of(options: &LinkOptions, database: &DatabaseUrl) -> Result<Option<Self>> {
        let base = options.prefix.clone();
        let of =
            |address| Self { key: format!("{base}:shortlink:database:{address}").into_bytes(), base: base.clone() };
        Ok(fingerprint(database)?.map(of))
    }

    /// The key prefix of the database called `name`.
    pub(super) fn prefix(base: &str, name: &str) -> String {
        format!("{base}-{name}")
    }

    /// Reads the record; `None` if there is none, or if two databases were open at the address within a day, which makes it
    /// ambiguous.
    async fn read(&self, link: &Link, now: Timestamp) -> Result<Option<KnownPrefix>, LinkError> {
        let mut command = Cmd::with_capacity(2, 64);
        command.arg("HGETALL").arg(&self.key);
        let found = HashMap::<String, i64>::from_redis_value(link.command(&self.key, &command).await?);
        Ok(found.ok().and_then(|found| self.only(&found, now)))
    }

    /// Records the database called `name` now, and renews the record until the returned handle is dropped.
    pub(super) async fn renew_until_dropped(self, link: Link, name: String, clock: Clock) -> AbortOnDropHandle<()> {
        let mut pause = self.renew(&link, &name, &clock).await;
        AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                clock.sleep(pause).await;
                pause = self.renew(&link, &name, &clock).await;
            }
        }))
    }

    /// Returns the pause before the next renewal.
    async fn renew(&self, link: &Link, name: &str, clock: &Clock) -> Duration {
        let now_ms = signed(clock.unix_ms());
        match self.write(link, name, now_ms).await {
            Ok(()) => RENEW_EVERY,
            Err(error @ LinkError::Refused { .. }) => {
                warn!(%error, "cannot record the key prefix; an instance that starts while the database is unreachable serves no redirects");
                RENEW_EVERY
            }
            Err(error) => {
                debug!(%error, "cannot record the key prefix in Redis; retrying");
                PAUSE
            }
        }
    }

    /// Records that the database at the address is open and called `name`.
    async fn write(&self, link: &Link, name: &str, now_ms: i64) -> Result<(), LinkError> {
        let mut set = Cmd::with_capacity(4, 96);
        set.arg("HSET").arg(&self.key).arg(name).arg(now_ms);
        let mut expire = Cmd::with_capacity(3, 64);
        // Not EXPIRE: the library has no right to it, and a user has the rights of the library.
        expire.arg("PEXPIRE").arg(&self.key).arg(VALID_FOR.as_millis());
        let mut both = redis::Pipeline::with_capacity(2);
        both.add_command(set).add_command(expire);
        for answer in link.pipeline(&self.key, &both).await? {
            if let Value::ServerError(error) = answer {
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn only(&self, found: &HashMap<String, i64>, now: Timestamp) -> Option<KnownPrefix> {
        let seen = found
            .iter()
            .filter_map(|(name, ms)| Some((Code::parse(name).ok()?, Timestamp::from_millisecond(*ms).ok()?)));
        let mut seen: Vec<_> = seen.filter(|(_, at)| now.duration_since(*at) < VALID_FOR).collect();
        let (name, as_of) = seen.pop()?;
        seen.is_empty().then(|| KnownPrefix { prefix: Self::prefix(&self.base, name.as_str()), as_of })
    }
}

/// Reads the record while the database is unreachable.
pub(super) struct Lookup {
    record: PrefixRecord,
    link: Link,
    clock: Clock,
}

impl Lookup {
    /// Opens a connection of its own, with the prefix that all databases share.
    ///
    /// # Errors
    /// Redis refuses.
    pub(super) async fn open(record: PrefixRecord, options: LinkOptions, clock: Clock) -> Result<Self, LinkError> {
        let link = Link::connect_lazy(options, clock.clone()).await?;
        Ok(Self { record, link, clock })
    }

    /// The record; `None` if there is none or Redis is unreachable.
    pub(super) async fn known(&self) -> Option<KnownPrefix> {
        let now = timestamp(signed(self.clock.unix_ms()));
        self.record.read(&self.link, now).await.unwrap_or_else(|error| {
            debug!(%error, "cannot read the key prefix from Redis");
            None
        })
    }

    /// The state of the connection to Redis.
    pub(super) fn state(&self) -> watch::Receiver<LinkState> {
        self.link.state()
    }

    /// Waits until there is a record.
    pub(super) async fn until_known(self) {
        while self.known().await.is_none() {
            self.clock.sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    // shows: S12, hazard S3a
    #[test]
    fn prefix_record_of_two_databases_is_ambiguous() {
        let database = "postgres://db.example/links".parse().unwrap();
        let options = LinkOptions::from_url("redis://localhost").unwrap();
        let record = PrefixRecord::of(&options, &database).unwrap().unwrap();
        let hour = 3_600_000;
        let now = Timestamp::from_millisecond(100 * hour).unwrap();
        let only = |found: &[(&str, i64)]| {
            let found = found.iter().map(|(name, ms)| ((*name).to_owned(), *ms)).collect();
            record.only(&found, now).map(|known| known.prefix)
        };
        assert_eq!(only(&[]), None);
        assert_eq!(only(&[("Ab3dE9x", 99 * hour)]).as_deref(), Some("evenkeel-Ab3dE9x"));
        assert_eq!(only(&[("Ab3dE9x", 99 * hour), ("zzzzzzz", 80 * hour)]), None);
        assert_eq!(only(&[("Ab3dE9x", 99 * hour), ("zzzzzzz", 70 * hour)]).as_deref(), Some("evenkeel-Ab3dE9x"));
        assert_eq!(only(&[("Ab3dE9x", 70 * hour)]), None);
        assert_eq!(only(&[("no name", 99 * hour)]), None);
    }
}
