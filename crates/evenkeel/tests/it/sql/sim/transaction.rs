//! One random transaction: what it writes, and the effects that say the same.

use super::super::rig::Sql;
use super::servers::{BROKER, NOTED, Open, Shop, name, now_ms};
use evenkeel::queue::JobId;
use evenkeel::sql::{Effects, Message, SqlError};
use rand::Rng;
use rand::rngs::StdRng;
use std::time::Duration;

/// Later than any run ends: no job is due, so each can be compared.
const DELAY: Duration = Duration::from_secs(30 * 24 * 3_600);

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    RollBack,
    Drop,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Invalidate,
    Versioned,
    Purge,
}

/// What a transaction does.
#[derive(Debug)]
pub(super) struct Transaction {
    accounts: Vec<(u64, How)>,
    units: i64,
    /// A named job and its body; without one it is revoked.
    job: Option<(u64, Option<i64>)>,
    nameless: Option<i64>,
    ordering_keys: Vec<(u64, i64)>,
    loose: Option<(&'static str, i64)>,
    pub(super) end: End,
    /// On a transaction of the caller's own.
    pub(super) is_joined: bool,
}

impl Transaction {
    pub(super) fn draw(random: &mut StdRng, open: &Open) -> Self {
        // In order, as a program that avoids deadlocks does; some are there all the same.
        let mut accounts: Vec<u64> =
            (0..random.random_range(1..=3)).map(|_| random.random_range(0..open.accounts)).collect();
        accounts.sort_unstable();
        accounts.dedup();
        let how = |random: &mut StdRng| match random.random_range(0..10) {
            0 => How::Purge,
            1..4 => How::Versioned,
            _ => How::Invalidate,
        };
        let number = |random: &mut StdRng| i64::try_from(random.random_range(1..u64::MAX >> 2)).unwrap();
        let mut ordering_keys: Vec<u64> =
            (0..random.random_range(0..=2)).map(|_| random.random_range(0..open.ordering_keys)).collect();
        ordering_keys.sort_unstable();
        Self {
            accounts: accounts.into_iter().map(|account| (account, how(random))).collect(),
            units: random.random_range(1..1_000),
            job: random.random_bool(0.4).then(|| {
                let body = random.random_bool(0.75).then(|| number(random));
                (random.random_range(0..open.jobs), body)
            }),
            nameless: random.random_bool(0.15).then(|| number(random)),
            ordering_keys: ordering_keys.into_iter().map(|ordering_key| (ordering_key, number(random))).collect(),
            loose: random.random_bool(0.4).then(|| {
                let topic = if random.random_bool(0.5) { "loose" } else { "broker.loose" };
                (topic, number(random))
            }),
            end: match random.random_range(0..20) {
                0 | 1 => End::RollBack,
                2 => End::Drop,
                _ => End::Commit,
            },
            is_joined: random.random_bool(0.2),
        }
    }

    /// Writes the truth. Answers the new versions of the accounts.
    pub(super) async fn write<DB: Sql>(
        &self,
        connection: &mut DB::Connection,
        work: String,
        process: u64,
    ) -> Result<Vec<u64>, sqlx::Error> {
        let ledger = format!("INSERT INTO ledger (work, process) VALUES ('{work}', {process})");
        DB::run(connection, &ledger).await?;
        let mut versions = Vec::new();
        for (account, _) in &self.accounts {
            let (account, units) = (name("accounts", *account), self.units);
            let add =
                format!("UPDATE accounts SET units = units + {units}, version = version + 1 WHERE name = '{account}'");
            DB::run(connection, &add).await?;
            let version = format!("SELECT version FROM accounts WHERE name = '{account}'");
            versions.push(u64::try_from(DB::number(connection, &version).await?.unwrap_or(0)).unwrap());
        }
        if let Some((job, body)) = &self.job {
            let body = body.map_or("NULL".to_owned(), |body| body.to_string());
            let job = format!("UPDATE jobs SET body = {body} WHERE name = '{}'", name("jobs", *job));
            DB::run(connection, &job).await?;
        }
        for (ordering_key, number) in &self.ordering_keys {
            let ordering_key = name("ordering_keys", *ordering_key);
            let next = format!("UPDATE ordering_keys SET last_place = last_place + 1 WHERE name = '{ordering_key}'");
            DB::run(connection, &next).await?;
            let said = format!(
                "INSERT INTO said (ordering_key, place, number) SELECT name, last_place, {number} FROM ordering_keys WHERE name = '{ordering_key}'"
            );
            DB::run(connection, &said).await?;
        }
        if let Some((topic, number)) = &self.loose {
            let loose = format!("INSERT INTO loose (number, topic) VALUES ({number}, '{topic}')");
            DB::run(connection, &loose).await?;
        }
        Ok(versions)
    }

    /// Notes the effects. Answers the id of the nameless job, whose row is written with [`nameless`](Self::nameless).
    pub(super) fn note(&self, effects: &mut Effects, shop: &Shop, versions: &[u64]) -> Result<Option<JobId>, SqlError> {
        for ((account, how), version) in self.accounts.iter().zip(versions) {
            let (cache, key) = (shop.cache(*account), name("accounts", *account));
            match how {
                How::Invalidate => effects.invalidate(cache, &key)?,
                How::Versioned => effects.invalidate_at(cache, &key, *version)?,
                How::Purge => effects.purge(cache, &key)?,
            }
        }
        if let Some((job, body)) = &self.job {
            let job = name("jobs", *job);
            match body {
                Some(body) if self.is_joined => _ = effects.reschedule(shop.queue.job(body).id(&job).delay(DELAY))?,
                Some(body) => _ = effects.enqueue(shop.queue.job(body).id(&job).delay(DELAY))?,
                None => effects.revoke(&shop.queue, JobId::named(job.as_bytes())).unwrap(),
            }
        }
        for (ordering_key, number) in &self.ordering_keys {
            effects.publish(
                Message::new(topic_of(*ordering_key), number.to_string()).key(name("ordering_keys", *ordering_key)),
            )?;
        }
        if let Some((topic, number)) = self.loose {
            effects.publish(Message::new(topic, number.to_string()).header(NOTED, now_ms().to_string()))?;
        }
        self.nameless.map(|body| effects.enqueue(shop.queue.job(&body).delay(DELAY))).transpose()
    }

    /// The truth about the nameless job.
    pub(super) async fn nameless<DB: Sql>(
        &self,
        connection: &mut DB::Connection,
        id: Option<JobId>,
    ) -> Result<(), sqlx::Error> {
        if let (Some(id), Some(body)) = (id, self.nameless) {
            DB::run(connection, &format!("INSERT INTO nameless (id, body) VALUES ('{id}', {body})")).await?;
        }
        Ok(())
    }
}

/// Half of the keys are on Redis, half at the broker.
pub(super) fn topic_of(ordering_key: u64) -> String {
    if ordering_key.is_multiple_of(2) { "said".to_owned() } else { format!("{BROKER}said") }
}
