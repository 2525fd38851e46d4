//! The ledger: a SQLite file to which all processes write their effects, and its evaluation.

use evenkeel::Keel;
use evenkeel::sql::{Inbox, MessageId, Once, SqlError};
use evenkeel::stream::Entry;
use serde::Serialize;
use sqlx::Sqlite;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// The key and the number of an entry among those of its key, from 0.
pub(super) type Step = (u32, u32);

/// The counts.
#[derive(Debug, Default, Serialize)]
pub(super) struct Tally {
    pub(super) entries: usize,
    pub(super) keys: usize,
    pub(super) kills: usize,
    pub(super) stops: usize,
    pub(super) effects: usize,
    pub(super) dead_letters: usize,
    /// Entries with neither an effect nor a dead letter, except for those that Redis held when it was flushed.
    pub(super) lost: usize,
    /// Entries that a flush may lose: those in Redis at that time, handled or not; of a registered stream only dead letters.
    pub(super) flushed: usize,
    /// Those among them with neither an effect nor a dead letter.
    pub(super) lost_in_flush: usize,
    /// Entries that the database has sent again after the flush.
    pub(super) sent_again: u64,
    /// Effects of entries that were never appended.
    pub(super) strange: usize,
    /// Entries with an effect and a dead letter.
    pub(super) done_and_dead: usize,
    /// Dead letters after the first of an entry.
    pub(super) dead_twice: usize,
    /// Effects of a key that followed one of a later entry.
    pub(super) out_of_order: usize,
    /// Committed runs after the first of an entry. The inbox has recognized them.
    pub(super) twice: usize,
    /// Those among them that were of another entry of the log: it was appended again.
    pub(super) appended_again: usize,
    /// Those of the same entry of the log whose partition had no other lease in between.
    pub(super) twice_under_one_fence: usize,
    /// Transactions of a former owner that the fence has refused.
    pub(super) refused: usize,
    /// Leases of partitions.
    pub(super) leases: usize,
    /// Entries that were trimmed during the run.
    pub(super) trimmed: u64,
    pub(super) seconds: f64,
}

/// The ledger's file, opened.
#[derive(Clone)]
pub(super) struct Ledger {
    pool: SqlitePool,
    inbox: Inbox<Sqlite>,
}

impl Ledger {
    pub(super) async fn open(keel: &Keel, path: &str) -> Self {
        let options =
            SqliteConnectOptions::new().filename(path).create_if_missing(true).journal_mode(SqliteJournalMode::Wal);
        // This is safe against a killed process, though not against a power failure.
        let options = options.synchronous(SqliteSynchronous::Off).busy_timeout(Duration::from_secs(60));
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
        Self { inbox: keel.inbox(&pool), pool }
    }

    pub(super) async fn create(&self) {
        evenkeel::sql::migrate(&self.pool).await.unwrap();
        let tables = [
            "CREATE TABLE fences (part INTEGER PRIMARY KEY, fence INTEGER NOT NULL)",
            "CREATE TABLE runs (stream_key INTEGER NOT NULL, number INTEGER NOT NULL, part INTEGER NOT NULL, fence INTEGER NOT NULL, id TEXT NOT NULL)",
            "CREATE TABLE effects (stream_key INTEGER NOT NULL, number INTEGER NOT NULL)",
            "CREATE TABLE refused (fence INTEGER NOT NULL)",
        ];
        for table in tables {
            sqlx::query(table).execute(&self.pool).await.unwrap();
        }
    }

    /// The effect of a handler, unless the partition has another owner.
    pub(super) async fn write(&self, entry: &Entry<Step>) -> Result<(), SqlError> {
        let ((key, number), fence) = (entry.value, i64::try_from(entry.fence).unwrap());
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        let fenced = sqlx::query(
            "INSERT INTO fences (part, fence) VALUES (?, ?)
             ON CONFLICT (part) DO UPDATE SET fence = excluded.fence WHERE excluded.fence >= fences.fence",
        );
        let fenced = fenced.bind(entry.partition).bind(fence).execute(&mut *transaction).await?;
        if fenced.rows_affected() == 0 {
            sqlx::query("INSERT INTO refused (fence) VALUES (?)").bind(fence).execute(&mut *transaction).await?;
            return Ok(transaction.commit().await?);
        }
        let run = sqlx::query("INSERT INTO runs (stream_key, number, part, fence, id) VALUES (?, ?, ?, ?, ?)");
        let run = run.bind(key).bind(number).bind(entry.partition).bind(fence).bind(entry.id.to_string());
        run.execute(&mut *transaction).await?;
        let message = MessageId::from(format!("{key}/{number}"));
        if self.inbox.once(&mut transaction, "billing", message).await? == Once::Fresh {
            let effect = sqlx::query("INSERT INTO effects (stream_key, number) VALUES (?, ?)");
            effect.bind(key).bind(number).execute(&mut *transaction).await?;
        }
        Ok(transaction.commit().await?)
    }

    pub(super) async fn count(&self) -> usize {
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM effects").fetch_one(&self.pool).await.unwrap();
        usize::try_from(count).unwrap()
    }

    /// Compares the effects with the appended entries, those that Redis held when it was flushed, and the dead letters.
    pub(super) async fn tally(&self, appended: &HashSet<Step>, flushed: &HashSet<Step>, dead: &[Step]) -> Tally {
        let effects: Vec<Step> = sqlx::query_as("SELECT stream_key, number FROM effects ORDER BY rowid")
            .fetch_all(&self.pool)
            .await
            .unwrap();
        let runs: Vec<(u32, u32, i64, String)> =
            sqlx::query_as("SELECT stream_key, number, fence, id FROM runs ORDER BY rowid")
                .fetch_all(&self.pool)
                .await
                .unwrap();
        let refused: i64 = sqlx::query_scalar("SELECT count(*) FROM refused").fetch_one(&self.pool).await.unwrap();
        let leases: i64 = sqlx::query_scalar("SELECT count(*) FROM (SELECT DISTINCT part, fence FROM runs)")
            .fetch_one(&self.pool)
            .await
            .unwrap();
        let done: HashSet<Step> = effects.iter().copied().collect();
        let letters: HashSet<Step> = dead.iter().copied().collect();
        let missing = appended.iter().filter(|step| !done.contains(step) && !letters.contains(step));
        let (lost_in_flush, lost): (Vec<&Step>, Vec<&Step>) = missing.partition(|step| flushed.contains(step));
        let mut tally = Tally {
            entries: appended.len(),
            effects: effects.len(),
            dead_letters: dead.len(),
            dead_twice: dead.len() - letters.len(),
            lost: lost.len(),
            flushed: flushed.len(),
            lost_in_flush: lost_in_flush.len(),
            strange: done.union(&letters).chain(flushed).filter(|step| !appended.contains(step)).count()
                + effects.len()
                - done.len(),
            done_and_dead: done.intersection(&letters).count(),
            refused: usize::try_from(refused).unwrap(),
            leases: usize::try_from(leases).unwrap(),
            ..Tally::default()
        };
        let mut last: HashMap<u32, u32> = HashMap::new();
        for (key, number) in effects {
            let before = last.insert(key, number);
            tally.out_of_order += usize::from(before.is_some_and(|before| before > number));
        }
        let mut entries: HashMap<Step, HashMap<String, i64>> = HashMap::new();
        for (key, number, fence, id) in runs {
            let fences = entries.entry((key, number)).or_default();
            let is_first = fences.is_empty();
            match fences.insert(id, fence) {
                Some(before) => tally.twice_under_one_fence += usize::from(before >= fence),
                None if is_first => continue,
                None => tally.appended_again += 1,
            }
            tally.twice += 1;
        }
        tally
    }
}
