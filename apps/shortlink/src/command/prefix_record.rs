//! [`PrefixRecord`]: under which prefix a database's keys are, for instances that start while the database is away.
//!
//! The prefix is made from what the database holds, so an instance that cannot ask it does not know where Redis has its redirects.
//! Every instance that knows it says so in Redis, under the database's address, every minute.

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

/// How often an instance renews the record.
const EVERY: Duration = Duration::from_secs(60);

/// After an attempt that failed, and between two attempts to read.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a record counts. Redirects live in Redis for minutes, so an older one leads to nothing.
const COUNTS: SignedDuration = SignedDuration::from_hours(24);

/// The record of one database. In Redis it is a hash: the name of a database, and when an instance found it at the address.
#[derive(Clone, Debug)]
pub(super) struct PrefixRecord {
    /// The prefix of all names.
    base: String,
    key: Vec<u8>,
}

/// What the record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The prefix of the database's keys.
    pub(super) prefix: String,
    /// When it was last seen at its address.
    pub(super) as_of: Timestamp,
}

impl PrefixRecord {
    /// The record of `database` in the Redis of `options`; `None` if it has none: a file is never away.
    ///
    /// # Errors
    /// The address cannot be read.
    pub(super) fn of(options: &LinkOptions, database: &DatabaseUrl) -> Result<Option<Self>> {
        let base = options.prefix.clone();
        let of =
            |address| Self { key: format!("{base}:shortlink:database:{address}").into_bytes(), base: base.clone() };
        Ok(fingerprint(database)?.map(of))
    }

    /// The prefix of the database that is called so.
    pub(super) fn prefix(base: &str, name: &str) -> String {
        format!("{base}-{name}")
    }

    /// What the record says; `None` if there is none, or two databases were found at the address within a day: nobody can say now
    /// which of them is meant.
    async fn read(&self, link: &Link, now: Timestamp) -> Result<Option<Known>, LinkError> {
        let mut command = Cmd::with_capacity(2, 64);
        command.arg("HGETALL").arg(&self.key);
        let found = HashMap::<String, i64>::from_redis_value(link.command(&self.key, &command).await?);
        Ok(found.ok().and_then(|found| self.only(&found, now)))
    }

    /// Notes the database that is called `name`, at once and then as long as the task lives that this answers.
    pub(super) async fn keep(self, link: Link, name: String, clock: Clock) -> AbortOnDropHandle<()> {
        let mut pause = self.renew(&link, &name, &clock).await;
        AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                clock.sleep(pause).await;
                pause = self.renew(&link, &name, &clock).await;
            }
        }))
    }

    /// Answers when to do it again.
    async fn renew(&self, link: &Link, name: &str, clock: &Clock) -> Duration {
        let now_ms = i64::try_from(clock.unix_ms()).unwrap_or(i64::MAX);
        match self.write(link, name, now_ms).await {
            Ok(()) => EVERY,
            Err(error @ LinkError::Refused { .. }) => {
                warn!(%error, "instances that start while the database is away will not find its redirects in Redis");
                EVERY
            }
            Err(error) => {
                debug!(%error, "the prefix could not be noted in Redis");
                PAUSE
            }
        }
    }

    /// Notes that the database at the address was seen, and is called `name`.
    async fn write(&self, link: &Link, name: &str, now_ms: i64) -> Result<(), LinkError> {
        let mut set = Cmd::with_capacity(4, 96);
        set.arg("HSET").arg(&self.key).arg(name).arg(now_ms);
        let mut expire = Cmd::with_capacity(3, 64);
        expire.arg("EXPIRE").arg(&self.key).arg(COUNTS.as_secs());
        let mut both = redis::Pipeline::with_capacity(2);
        both.add_command(set).add_command(expire);
        for answer in link.pipeline(&self.key, &both).await? {
            if let Value::ServerError(error) = answer {
                return Err(error.into());
            }
        }
        Ok(())
    }

    fn only(&self, found: &HashMap<String, i64>, now: Timestamp) -> Option<Known> {
        let seen = found
            .iter()
            .filter_map(|(name, ms)| Some((Code::parse(name).ok()?, Timestamp::from_millisecond(*ms).ok()?)));
        let mut seen: Vec<_> = seen.filter(|(_, at)| now.duration_since(*at) < COUNTS).collect();
        let (name, as_of) = seen.pop()?;
        seen.is_empty().then(|| Known { prefix: Self::prefix(&self.base, name.as_str()), as_of })
    }
}

/// A look into Redis for the record.
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

    /// What the record says, if Redis can be asked.
    pub(super) async fn known(&self) -> Option<Known> {
        let ms = i64::try_from(self.clock.unix_ms()).unwrap_or(i64::MAX);
        let now = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
        self.record.read(&self.link, now).await.unwrap_or_else(|error| {
            debug!(%error, "Redis cannot be asked for the prefix");
            None
        })
    }

    /// Whether Redis can be asked.
    pub(super) fn state(&self) -> watch::Receiver<LinkState> {
        self.link.state()
    }

    /// Ready once the record is there.
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

    #[test]
    fn record_of_two_databases_at_one_address_names_neither() {
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
