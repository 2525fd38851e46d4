//! The ledger: a SQLite file to which all processes append their effects, and its evaluation.

use evenkeel::queue::JobId;
use serde::Serialize;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// The counts.
#[derive(Debug, Default, Serialize)]
pub(super) struct Tally {
    pub(super) jobs: usize,
    pub(super) kills: usize,
    pub(super) effects: usize,
    /// Jobs without an effect.
    pub(super) lost: usize,
    /// Effects of jobs that were never sent.
    pub(super) strange: usize,
    /// Effects after a job's first.
    pub(super) twice: u64,
    /// Duplicates without an earlier lease expiry in the job's record.
    pub(super) twice_without_lease_expiry: u64,
    /// Duplicates after a slow worker that was not killed.
    pub(super) twice_after_the_living: u64,
    /// Expired leases, as the queue counts them.
    pub(super) lease_expiries: u64,
    pub(super) seconds: f64,
}

/// One effect.
pub(super) struct Effect {
    pub(super) job: JobId,
    /// The fence of its delivery.
    pub(super) fence: u64,
    /// The process that did it.
    pub(super) worker: usize,
    /// Expiries that the job's record contained then.
    pub(super) lease_expiries: usize,
}

/// The ledger's file, opened.
#[derive(Clone)]
pub(super) struct Ledger(SqlitePool);

impl Ledger {
    pub(super) async fn open(path: &str) -> Self {
        let options =
            SqliteConnectOptions::new().filename(path).create_if_missing(true).journal_mode(SqliteJournalMode::Wal);
        // This is safe against a killed process, though not against a power failure.
        let options = options.synchronous(SqliteSynchronous::Off).busy_timeout(Duration::from_secs(60));
        let ledger = Self(SqlitePool::connect_with(options).await.unwrap());
        let table = "CREATE TABLE IF NOT EXISTS effects
            (job TEXT NOT NULL, fence INTEGER NOT NULL, worker INTEGER NOT NULL, lease_expiries INTEGER NOT NULL)";
        sqlx::query(table).execute(&ledger.0).await.unwrap();
        ledger
    }

    pub(super) async fn write(&self, effect: &Effect) -> Result<(), sqlx::Error> {
        let number = |number: usize| i64::try_from(number).unwrap();
        sqlx::query("INSERT INTO effects (job, fence, worker, lease_expiries) VALUES (?, ?, ?, ?)")
            .bind(effect.job.to_string())
            .bind(i64::try_from(effect.fence).unwrap())
            .bind(number(effect.worker))
            .bind(number(effect.lease_expiries))
            .execute(&self.0)
            .await
            .map(drop)
    }

    pub(super) async fn count(&self) -> usize {
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM effects").fetch_one(&self.0).await.unwrap();
        usize::try_from(count).unwrap()
    }

    /// Compares the effects with the sent jobs and the killed workers.
    pub(super) async fn tally(&self, sent: &HashSet<JobId>, killed: &HashSet<usize>) -> Tally {
        let rows: Vec<(String, i64, i64)> =
            sqlx::query_as("SELECT job, worker, lease_expiries FROM effects ORDER BY job, fence")
                .fetch_all(&self.0)
                .await
                .unwrap();
        let mut tally = Tally { jobs: sent.len(), kills: killed.len(), effects: rows.len(), ..Tally::default() };
        // Of each job: the number of effects so far, and the process of the last one.
        let mut done: HashMap<JobId, (i64, usize)> = HashMap::new();
        for (job, worker, lease_expiries) in rows {
            let (job, worker) = (job.parse().unwrap(), usize::try_from(worker).unwrap());
            let (before, last) = done.get(&job).copied().unwrap_or((0, worker));
            tally.twice += u64::from(before > 0);
            tally.twice_without_lease_expiry += u64::from(lease_expiries < before);
            tally.twice_after_the_living += u64::from(before > 0 && !killed.contains(&last));
            done.insert(job, (before + 1, worker));
        }
        tally.lost = sent.iter().filter(|job| !done.contains_key(job)).count();
        tally.strange = done.keys().filter(|job| !sent.contains(job)).count();
        tally
    }
}
