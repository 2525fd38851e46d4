//! The statements on `evenkeel_jobs`: one row per job that SQL judges.

use crate::queue::for_work::{JobPut, JobWish, job_record};
use crate::queue::job::{End, FORGET_MS, JobId, Keep};
use crate::sql::SqlError;
use crate::sql::database::{Database, Kind, Row, Statement, Trouble, Value};
use crate::sql::take_versions;
use bytes::Bytes;
use sqlx::Pool;
use std::pin::Pin;

/// Rows of one page of the sweep, and of one deletion.
pub(super) const PAGE: usize = 500;
/// How often a transaction is tried that met a deadlock.
const TRIES: u32 = 5;

const LIVE: i64 = 1;

pub(super) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, SqlError>> + Send + 'a>>;

/// The rows of all queues in one database, whichever it is.
pub(crate) trait JobTable: Send + Sync {
    /// Makes a row for each job whose id has none. Answers what each job is in by now: its new version, or the row that was there.
    fn insert<'a>(&'a self, jobs: &'a mut [JobPut]) -> Answer<'a, Vec<Option<JobRow>>>;
    /// Lets a delivery begin; false: the row does not match.
    fn start<'a>(&'a self, topic: &'a str, id: JobId, version: u64, fence: u64) -> Answer<'a, bool>;
    /// The job is done: under this fence, or (by what the store says) under whichever.
    fn end<'a>(&'a self, topic: &'a str, id: JobId, version: u64, fence: Option<u64>) -> Answer<'a, bool>;
    /// The row of a job.
    fn row<'a>(&'a self, topic: &'a str, id: JobId) -> Answer<'a, Option<JobRow>>;
    /// Takes a live job back, under the next version.
    fn revoke<'a>(&'a self, topic: &'a str, id: JobId, end: End) -> Answer<'a, bool>;
    /// Gives a live job of this version another time and record, under a new version.
    fn change<'a>(&'a self, topic: &'a str, id: JobId, seen: u64, row: &'a JobRow) -> Answer<'a, bool>;
    /// The live jobs that are due before then, in the order of their ids, after one of them; with their records or without.
    fn page<'a>(&'a self, topic: &'a str, page: Page) -> Answer<'a, Vec<(JobId, JobRow)>>;
    /// Deletes rows of jobs that have ended and need not be remembered any more; how many.
    fn forget(&self) -> Answer<'_, u64>;
}

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobRow {
    pub(super) version: u64,
    pub(super) is_live: bool,
    pub(super) fence: u64,
    pub(super) due_at: u64,
    /// How it ended, if it has.
    pub(super) ended_as: Option<End>,
    pub(super) record: Bytes,
}

/// Which rows of a sweep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(super) after: Option<JobId>,
    pub(super) due_before: u64,
    pub(super) with_records: bool,
}

/// The table in the database of one pool.
pub(crate) struct SqlTable<DB: Database>(pub(crate) Pool<DB>);

const INSERT: &str = "INSERT INTO evenkeel_jobs (topic, job, version, state, fence, due_at, record, keep_ms, changed_at) \
    VALUES (?, ?, ?, 1, 0, ?, ?, ?, {now})";
static INSERT_MYSQL: Statement = Statement::new(INSERT);
static INSERT_OTHERS: Statement = Statement::new(
    "INSERT INTO evenkeel_jobs (topic, job, version, state, fence, due_at, record, keep_ms, changed_at) \
     VALUES (?, ?, ?, 1, 0, ?, ?, ?, {now}) ON CONFLICT DO NOTHING",
);
static VERSION: Statement =
    Statement::new("UPDATE evenkeel_jobs SET version = ?, record = ? WHERE topic = ? AND job = ?");
/// A newer version takes the place of an older one, whatever state that is in; its fence stays.
static REPLACE: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET version = ?, state = 1, due_at = ?, record = ?, keep_ms = ?, changed_at = {now}, forget_at = NULL \
     WHERE topic = ? AND job = ? AND version < ?",
);
static WITHDRAW: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET version = ?, state = 2, ended_as = 5, changed_at = {now}, forget_at = {now} + keep_ms \
     WHERE topic = ? AND job = ? AND version < ?",
);
static START: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET fence = ?, changed_at = {now} \
     WHERE topic = ? AND job = ? AND version = ? AND state = 1 AND fence < ?",
);
static DONE_DELETE: Statement = Statement::new(
    "DELETE FROM evenkeel_jobs WHERE topic = ? AND job = ? AND version = ? AND state = 1 AND fence >= ? AND fence <= ? \
     AND keep_ms <= ?",
);
static DONE_KEEP: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET state = 2, ended_as = 1, changed_at = {now}, forget_at = {now} + keep_ms \
     WHERE topic = ? AND job = ? AND version = ? AND state = 1 AND fence >= ? AND fence <= ? AND keep_ms > ?",
);
static ROW: Statement = Statement::new(
    "SELECT version, state, fence, due_at, ended_as, record FROM evenkeel_jobs WHERE topic = ? AND job = ?",
);
static REVOKE: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET version = version + 1, state = 2, ended_as = ?, changed_at = {now}, forget_at = {now} + keep_ms + ? \
     WHERE topic = ? AND job = ? AND state = 1",
);
static CHANGE: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET version = ?, due_at = ?, record = ?, changed_at = {now} \
     WHERE topic = ? AND job = ? AND version = ? AND state = 1",
);
static PAGE_BRIEF: Statement = Statement::new(
    "SELECT job, version, state, fence, due_at, ended_as FROM evenkeel_jobs \
     WHERE topic = ? AND state = 1 AND job > ? AND due_at < ? ORDER BY job LIMIT ?",
);
static PAGE_WHOLE: Statement = Statement::new(
    "SELECT job, version, state, fence, due_at, ended_as, record FROM evenkeel_jobs \
     WHERE topic = ? AND state = 1 AND job > ? AND due_at < ? ORDER BY job LIMIT ?",
);
static FORGET_MYSQL: Statement =
    Statement::new("DELETE FROM evenkeel_jobs WHERE state = 2 AND forget_at < {now} LIMIT ?");
static FORGET_OTHERS: Statement = Statement::new(
    "DELETE FROM evenkeel_jobs WHERE (topic, job) IN \
     (SELECT topic, job FROM evenkeel_jobs WHERE state = 2 AND forget_at < {now} LIMIT ?)",
);

impl<DB: Database> SqlTable<DB> {
    /// One statement on a connection of its own.
    async fn run(&self, statement: &'static Statement, values: &[Value<'_>]) -> Result<u64, SqlError> {
        let mut connection = self.0.acquire().await.map_err(SqlError::of::<DB>)?;
        DB::execute(&mut connection, statement.text::<DB>(), values).await.map_err(SqlError::of::<DB>)
    }

    async fn insert_all(&self, jobs: &mut [JobPut]) -> Result<Vec<Option<JobRow>>, sqlx::Error> {
        let mut transaction = self.0.begin_with(DB::BEGIN).await?;
        let mut held = Vec::with_capacity(jobs.len());
        for job in jobs {
            let inserted = insert::<DB>(&mut transaction, job).await?;
            if inserted && job.version == 0 {
                take_versions::<DB>(&mut transaction, std::slice::from_mut(job)).await?;
                let record = record_of(job);
                let name = [
                    Value::count(job.version),
                    Value::Bytes(&record),
                    Value::Text(&job.topic),
                    Value::Bytes(&job.id.0),
                ];
                DB::execute(&mut transaction, VERSION.text::<DB>(), &name).await?;
            }
            held.push(if inserted { None } else { read::<DB>(&mut transaction, &job.topic, job.id).await? });
        }
        transaction.commit().await?;
        Ok(held)
    }
}

/// Whether there was none.
async fn insert<DB: Database>(connection: &mut DB::Connection, job: &JobPut) -> Result<bool, sqlx::Error> {
    let JobWish::Run { due_at, spec } = &job.wish else { return Ok(false) };
    let record = record_of(job);
    let values = [
        Value::Text(&job.topic),
        Value::Bytes(&job.id.0),
        Value::count(job.version),
        Value::count(*due_at),
        Value::Bytes(&record),
        Value::count(keep_ms(spec.keep)),
    ];
    if DB::KIND == Kind::MySql {
        match DB::execute(connection, INSERT_MYSQL.text::<DB>(), &values).await {
            Err(error) if DB::trouble(&error) == Trouble::Duplicate => Ok(false),
            answer => Ok(answer? == 1),
        }
    } else {
        Ok(DB::execute(connection, INSERT_OTHERS.text::<DB>(), &values).await? == 1)
    }
}

async fn read<DB: Database>(
    connection: &mut DB::Connection,
    topic: &str,
    id: JobId,
) -> Result<Option<JobRow>, sqlx::Error> {
    let row = Row::<DB>::first(connection, &ROW, &[Value::Text(topic), Value::Bytes(&id.0)]).await?;
    row.map(|row| job_row(&row, 0)).transpose()
}

/// Columns from `at` on: version, state, fence, due time, end and, if it was asked for, record.
fn job_row<DB: Database>(row: &Row<DB>, at: usize) -> Result<JobRow, sqlx::Error> {
    Ok(JobRow {
        version: row.count(at)?,
        is_live: row.int(at + 1)? == LIVE,
        fence: row.count(at + 2)?,
        due_at: row.count(at + 3)?,
        ended_as: u8::try_from(row.int(at + 4)?).ok().and_then(End::from_code),
        record: row.bytes(at + 5).unwrap_or_default().into(),
    })
}

fn record_of(job: &JobPut) -> Bytes {
    match &job.wish {
        JobWish::Run { spec, .. } => job_record(spec, job.version),
        JobWish::Withdraw(_) => Bytes::new(),
    }
}

fn keep_ms(keep: Keep) -> u64 {
    match keep {
        Keep::AfterEnd(ms) | Keep::FromEnqueue(ms) => ms,
        Keep::Nothing | Keep::UntilForgotten => 0,
    }
}

/// Writes the rows of the jobs that a unit of work sends, in its own transaction. The versions have been taken.
pub(crate) async fn upsert_jobs<DB: Database>(
    connection: &mut DB::Connection,
    jobs: &[JobPut],
) -> Result<(), sqlx::Error> {
    for job in jobs.iter().filter(|job| job.is_judged) {
        let (version, record) = (Value::count(job.version), record_of(job));
        let name = [Value::Text(&job.topic), Value::Bytes(&job.id.0)];
        match &job.wish {
            JobWish::Withdraw(_) => {
                DB::execute(connection, WITHDRAW.text::<DB>(), &[version, name[0], name[1], version]).await?;
            }
            JobWish::Run { .. } if insert::<DB>(connection, job).await? => {}
            JobWish::Run { due_at, spec } => {
                let kept = Value::count(keep_ms(spec.keep));
                let values = [version, Value::count(*due_at), Value::Bytes(&record), kept, name[0], name[1], version];
                DB::execute(connection, REPLACE.text::<DB>(), &values).await?;
            }
        }
    }
    Ok(())
}

impl<DB: Database> JobTable for SqlTable<DB> {
    fn insert<'a>(&'a self, jobs: &'a mut [JobPut]) -> Answer<'a, Vec<Option<JobRow>>> {
        Box::pin(async move {
            let named: Vec<bool> = jobs.iter().map(|job| job.version == 0).collect();
            for attempt in 1.. {
                match self.insert_all(jobs).await {
                    Err(error) if DB::trouble(&error) == Trouble::Contention && attempt < TRIES => {
                        // The versions went with the transaction.
                        jobs.iter_mut().zip(&named).filter(|(_, named)| **named).for_each(|(job, _)| job.version = 0);
                    }
                    answer => return answer.map_err(SqlError::of::<DB>),
                }
            }
            Ok(Vec::new())
        })
    }

    fn start<'a>(&'a self, topic: &'a str, id: JobId, version: u64, fence: u64) -> Answer<'a, bool> {
        Box::pin(async move {
            let fence = Value::count(fence);
            let values = [fence, Value::Text(topic), Value::Bytes(&id.0), Value::count(version), fence];
            Ok(self.run(&START, &values).await? == 1)
        })
    }

    fn end<'a>(&'a self, topic: &'a str, id: JobId, version: u64, fence: Option<u64>) -> Answer<'a, bool> {
        Box::pin(async move {
            let (lowest, highest) = (Value::count(fence.unwrap_or(0)), Value::count(fence.unwrap_or(u64::MAX)));
            let kept = Value::count(FORGET_MS);
            let values = [Value::Text(topic), Value::Bytes(&id.0), Value::count(version), lowest, highest, kept];
            Ok(self.run(&DONE_DELETE, &values).await? == 1 || self.run(&DONE_KEEP, &values).await? == 1)
        })
    }

    fn row<'a>(&'a self, topic: &'a str, id: JobId) -> Answer<'a, Option<JobRow>> {
        Box::pin(async move {
            let mut connection = self.0.acquire().await.map_err(SqlError::of::<DB>)?;
            read::<DB>(&mut connection, topic, id).await.map_err(SqlError::of::<DB>)
        })
    }

    fn revoke<'a>(&'a self, topic: &'a str, id: JobId, end: End) -> Answer<'a, bool> {
        Box::pin(async move {
            let values = [Value::Int(end as i64), Value::count(FORGET_MS), Value::Text(topic), Value::Bytes(&id.0)];
            Ok(self.run(&REVOKE, &values).await? == 1)
        })
    }

    fn change<'a>(&'a self, topic: &'a str, id: JobId, seen: u64, row: &'a JobRow) -> Answer<'a, bool> {
        Box::pin(async move {
            let values = [
                Value::count(row.version),
                Value::count(row.due_at),
                Value::Bytes(&row.record),
                Value::Text(topic),
                Value::Bytes(&id.0),
                Value::count(seen),
            ];
            Ok(self.run(&CHANGE, &values).await? == 1)
        })
    }

    fn page<'a>(&'a self, topic: &'a str, page: Page) -> Answer<'a, Vec<(JobId, JobRow)>> {
        Box::pin(async move {
            let after = page.after.map(|id| id.0);
            let after = after.as_ref().map_or(&[][..], |id| &id[..]);
            let limit = Value::count(PAGE as u64);
            let values = [Value::Text(topic), Value::Bytes(after), Value::count(page.due_before), limit];
            let statement = if page.with_records { &PAGE_WHOLE } else { &PAGE_BRIEF };
            let mut connection = self.0.acquire().await.map_err(SqlError::of::<DB>)?;
            let rows = Row::<DB>::all(&mut connection, statement, &values).await;
            let read = |row: Row<DB>| Ok(row.id(0)?.map(JobId).zip(Some(job_row(&row, 1)?)));
            let read = rows.and_then(|rows| rows.into_iter().map(read).collect::<Result<Vec<_>, _>>());
            Ok(read.map_err(SqlError::of::<DB>)?.into_iter().flatten().collect())
        })
    }

    fn forget(&self) -> Answer<'_, u64> {
        Box::pin(async move {
            let statement = if DB::KIND == Kind::MySql { &FORGET_MYSQL } else { &FORGET_OTHERS };
            self.run(statement, &[Value::count(PAGE as u64)]).await
        })
    }
}
