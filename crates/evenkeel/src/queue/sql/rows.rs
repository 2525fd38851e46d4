//! The rows of jobs in one database: `evenkeel_jobs` and `evenkeel_topics`.

use super::statements::{
    BODIES, CHANGE, COUNT, COUNT_DEAD, DONE_DELETE, DONE_KEEP, DUE_MYSQL, DUE_OTHERS, ENDED, FAILED, FORGET_MYSQL,
    FORGET_OTHERS, HEADS, INSERT_MYSQL, INSERT_OTHERS, MARK_DEAD, NEWEST_MYSQL, NEWEST_OTHERS, PAGE_OF_HEADS, PAUSE,
    PAUSED, REDRIVE, REPLACE, RESUME, REVOKE, ROW, SIZES, START, VERSION, WITHDRAW,
};
use super::table::{Begin, Failed, JobRow, JobTable, PAGE, Page};
use crate::queue::sending::for_work::{JobOperation, JobPut, job_record};
use crate::sql::database::{Connection, Kind, Lists, Pool, Row, SqlErrorClass, Statement, Value, class_of_error};
use crate::sql::{SqlError, Transaction, UNCHECKED_MAX, fits, largest_body, take_versions};
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::job::{End, FORGET_MS, JobId, Retention};
use evenkeel_protocol::queue::steps::{Listed, Receipt};
use sqlx::SqlSafeStr;

/// How often a transaction is tried that the database aborts because of a deadlock.
const TRIES: u32 = 5;

const LIVE: i64 = 1;

impl Failed {
    /// The number of errors, the last error, and its time.
    fn values(&self) -> [Value<'_>; 3] {
        [Value::count(self.errors.into()), Value::Bytes(&self.failure), Value::count(self.at)]
    }
}

/// The table in the database of one pool.
pub(crate) struct SqlTable(pub(crate) Pool);

/// The statement that reads a page in the order of due times, for tests of its query plan. Its values: topic, dead (0 or 1), time and id
/// after which the page begins (on MySQL and MariaDB the time twice), and limit.
#[cfg(feature = "testing")]
#[must_use]
pub fn page_by_due<DB: crate::sql::Database>() -> &'static str {
    if DB::DIALECT.kind == Kind::MySql { DUE_MYSQL.text(DB::DIALECT) } else { DUE_OTHERS.text(DB::DIALECT) }
}

impl SqlTable {
    /// Checks the size of a record before it is sent.
    async fn fits(&self, bytes: usize) -> Result<(), SqlError> {
        if bytes <= UNCHECKED_MAX {
            return Ok(());
        }
        let mut connection = self.0.acquire().await?;
        fits(&mut *connection, "a job", bytes).await
    }

    /// Reads the number in the first row; `None` if there is no row.
    async fn number(&self, statement: &'static Statement, topic: &str) -> Result<Option<u64>, SqlError> {
        let rows = statement.read(&self.0, &[Value::Text(topic)]).await?;
        Ok(rows.first().map(|row| row.count(0)).transpose()?)
    }

    /// Reads the rows of some jobs.
    async fn listed(&self, list: &'static Lists, topic: &str, ids: &[JobId]) -> Result<Vec<Row>, SqlError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Value<'_>> = ids.iter().map(|id| Value::Bytes(&id.0)).collect();
        let mut connection = self.0.acquire().await?;
        Ok(list.rows(&mut *connection, &[Value::Text(topic)], &ids).await?)
    }

    async fn insert_all(&self, jobs: &mut [JobPut]) -> Result<Vec<Option<JobRow>>, sqlx::Error> {
        let mut transaction = Transaction::begin(&self.0, self.0.dialect().begin.into_sql_str()).await?;
        let mut held = Vec::with_capacity(jobs.len());
        for job in jobs {
            let inserted = insert(&mut *transaction, job).await?;
            if inserted && job.version == 0 {
                take_versions(&mut *transaction, std::slice::from_mut(job)).await?;
                let record = record_of(job);
                let name = [
                    Value::count(job.version),
                    Value::Bytes(&record),
                    Value::Text(&job.topic),
                    Value::Bytes(&job.id.0),
                ];
                VERSION.execute(&mut *transaction, &name).await?;
            }
            held.push(if inserted { None } else { read(&mut *transaction, &job.topic, job.id).await? });
        }
        transaction.commit().await?;
        Ok(held)
    }
}

/// Inserts the row of a job; returns false if one exists.
async fn insert(connection: &mut Connection, job: &JobPut) -> Result<bool, sqlx::Error> {
    let JobOperation::Run { due_at, spec } = &job.operation else { return Ok(false) };
    let record = record_of(job);
    let values = [
        Value::Text(&job.topic),
        Value::Bytes(&job.id.0),
        Value::count(job.version),
        Value::count(*due_at),
        Value::Bytes(&record),
        Value::count(retention_ms(spec.retention)),
    ];
    if connection.dialect().kind == Kind::MySql {
        match INSERT_MYSQL.execute(connection, &values).await {
            Err(error) if class_of_error(&error) == SqlErrorClass::Duplicate => Ok(false),
            answer => Ok(answer? == 1),
        }
    } else {
        Ok(INSERT_OTHERS.execute(connection, &values).await? == 1)
    }
}

async fn read(connection: &mut Connection, topic: &str, id: JobId) -> Result<Option<JobRow>, sqlx::Error> {
    let row = Row::first(connection, &ROW, &[Value::Text(topic), Value::Bytes(&id.0)]).await?;
    row.map(|row| job_row(&row, 0)).transpose()
}

/// Reads the columns from `at` on: version, state, fence, due time, end, errors, dead, redriven and, if selected, record and last error.
fn job_row(row: &Row, at: usize) -> Result<JobRow, sqlx::Error> {
    Ok(JobRow {
        version: row.count(at)?,
        is_live: row.int(at + 1)? == LIVE,
        fence: row.count(at + 2)?,
        due_at: row.count(at + 3)?,
        ended_as: u8::try_from(row.int(at + 4)?).ok().and_then(End::from_code),
        errors: u16::try_from(row.count(at + 5)?).unwrap_or(u16::MAX),
        is_dead: row.int(at + 6)? == 1,
        is_redriven: row.int(at + 7)? == 1,
        record: row.bytes(at + 8).unwrap_or_default().into(),
        failure: row.bytes(at + 9).unwrap_or_default().into(),
    })
}

fn job_rows(rows: Vec<Row>) -> Result<Vec<(JobId, JobRow)>, sqlx::Error> {
    let read = |row: Row| Ok(row.id(0)?.map(JobId).zip(Some(job_row(&row, 1)?)));
    let read = rows.into_iter().map(read).collect::<Result<Vec<_>, sqlx::Error>>()?;
    Ok(read.into_iter().flatten().collect())
}

fn record_of(job: &JobPut) -> Bytes {
    match &job.operation {
        JobOperation::Run { spec, .. } => job_record(spec, job.version),
        JobOperation::Withdraw(_) => Bytes::new(),
    }
}

fn retention_ms(retention: Retention) -> u64 {
    match retention {
        Retention::AfterEnd(ms) | Retention::FromEnqueue(ms) => ms,
        Retention::Nothing | Retention::UntilForgotten => 0,
    }
}

/// Writes the rows of the jobs that a unit of work sends, in its transaction. The jobs have their versions already.
pub(crate) async fn upsert_jobs(connection: &mut Connection, jobs: &[JobPut]) -> Result<(), sqlx::Error> {
    for job in jobs.iter().filter(|job| job.row_decides) {
        let (version, record) = (Value::count(job.version), record_of(job));
        let name = [Value::Text(&job.topic), Value::Bytes(&job.id.0)];
        match &job.operation {
            JobOperation::Withdraw(_) => {
                WITHDRAW.execute(connection, &[version, name[0], name[1], version]).await?;
            }
            JobOperation::Run { .. } if insert(connection, job).await? => {}
            JobOperation::Run { due_at, spec } => {
                let kept = Value::count(retention_ms(spec.retention));
                let values = [version, Value::count(*due_at), Value::Bytes(&record), kept, name[0], name[1], version];
                REPLACE.execute(connection, &values).await?;
            }
        }
    }
    Ok(())
}

#[async_trait]
impl JobTable for SqlTable {
    async fn insert(&self, jobs: &mut [JobPut]) -> Result<Vec<Option<JobRow>>, SqlError> {
        self.fits(largest_body(jobs.iter())).await?;
        let named: Vec<bool> = jobs.iter().map(|job| job.version == 0).collect();
        for attempt in 1.. {
            match self.insert_all(jobs).await {
                Err(error) if class_of_error(&error).is_contention() && attempt < TRIES => {
                    // The rollback has undone the assigned versions.
                    jobs.iter_mut().zip(&named).filter(|(_, named)| **named).for_each(|(job, _)| job.version = 0);
                }
                answer => return Ok(answer?),
            }
        }
        Ok(Vec::new())
    }

    async fn start(&self, topic: &str, begin: Begin) -> Result<bool, SqlError> {
        let (name, fence) = (Value::Text(topic), Value::count(begin.fence));
        // Without the guard no pause applies.
        let now = if guard("sql_pause") { begin.now } else { u64::MAX };
        let (version, now) = (Value::count(begin.version), Value::count(now));
        let (errors, dead_below) =
            (Value::count(begin.errors.into()), Value::Int(if guard("sql_death_decides") { 1 } else { 2 }));
        let values = [fence, errors, name, Value::Bytes(&begin.id.0), version, dead_below, fence, name, now];
        Ok(START.run(&self.0, &values).await? == 1)
    }

    async fn failed(&self, topic: &str, receipt: &Receipt, version: u64, failed: &Failed) -> Result<bool, SqlError> {
        let (name, job) = (Value::Text(topic), Value::Bytes(&receipt.id.0));
        let (version, fence) = (Value::count(version), Value::count(receipt.fence));
        let [errors, failure, at] = failed.values();
        let values = [errors, failure, Value::Int(failed.is_dead.into()), at, name, job, version, fence];
        Ok(FAILED.run(&self.0, &values).await? == 1)
    }

    async fn mark_dead(&self, topic: &str, id: JobId, seen: &JobRow, died: &Failed) -> Result<bool, SqlError> {
        let (name, job) = (Value::Text(topic), Value::Bytes(&id.0));
        let (version, fence) = (Value::count(seen.version), Value::count(seen.fence));
        let [errors, failure, at] = died.values();
        let values = [errors, failure, at, name, job, version, fence, Value::Int(seen.is_redriven.into())];
        Ok(MARK_DEAD.run(&self.0, &values).await? == 1)
    }

    async fn redrive(&self, topic: &str, ids: &[JobId], due_at: u64) -> Result<(), SqlError> {
        if ids.is_empty() {
            return Ok(());
        }
        let ids: Vec<Value<'_>> = ids.iter().map(|id| Value::Bytes(&id.0)).collect();
        let mut connection = self.0.acquire().await?;
        let before = [Value::count(due_at), Value::Text(topic)];
        REDRIVE.execute(&mut *connection, &before, &ids).await?;
        Ok(())
    }

    async fn done(&self, topic: &str, id: JobId, version: u64, fence: u64) -> Result<bool, SqlError> {
        let (version, fence, kept) = (Value::count(version), Value::count(fence), Value::count(FORGET_MS));
        let values = [Value::Text(topic), Value::Bytes(&id.0), version, fence, kept];
        Ok(DONE_DELETE.run(&self.0, &values).await? == 1 || DONE_KEEP.run(&self.0, &values).await? == 1)
    }

    async fn end(&self, topic: &str, id: JobId, version: u64, end: End) -> Result<bool, SqlError> {
        let values = [Value::Int(end as i64), Value::Text(topic), Value::Bytes(&id.0), Value::count(version)];
        Ok(ENDED.run(&self.0, &values).await? == 1)
    }

    async fn row(&self, topic: &str, id: JobId) -> Result<Option<JobRow>, SqlError> {
        let mut connection = self.0.acquire().await?;
        Ok(read(&mut *connection, topic, id).await?)
    }

    async fn revoke(&self, topic: &str, id: JobId, seen: &JobRow, end: End) -> Result<bool, SqlError> {
        let (name, job) = (Value::Text(topic), Value::Bytes(&id.0));
        let (version, fence) = (Value::count(seen.version), Value::count(seen.fence));
        let values = [Value::Int(end as i64), Value::count(FORGET_MS), name, job, version, fence];
        Ok(REVOKE.run(&self.0, &values).await? == 1)
    }

    async fn change(&self, topic: &str, id: JobId, seen: &JobRow, row: &JobRow) -> Result<bool, SqlError> {
        self.fits(row.record.len()).await?;
        let values = [
            Value::count(row.version),
            Value::count(row.due_at),
            Value::Bytes(&row.record),
            Value::Text(topic),
            Value::Bytes(&id.0),
            Value::count(seen.version),
            Value::count(seen.fence),
            Value::Int(seen.is_dead.into()),
        ];
        Ok(CHANGE.run(&self.0, &values).await? == 1)
    }

    async fn page(&self, topic: &str, page: Page) -> Result<Vec<(JobId, JobRow)>, SqlError> {
        let after = page.after.map(|id| id.0);
        let after = after.as_ref().map_or(&[][..], |id| &id[..]);
        let limit = Value::count(page.limit as u64);
        let values = [Value::Text(topic), Value::Bytes(after), Value::count(page.due_before), limit];
        Ok(job_rows(PAGE_OF_HEADS.read(&self.0, &values).await?)?)
    }

    async fn due(
        &self,
        topic: &str,
        is_dead: bool,
        descends: bool,
        after: Option<Listed>,
        limit: usize,
    ) -> Result<Vec<(JobId, JobRow)>, SqlError> {
        let (name, dead) = (Value::Text(topic), Value::Int(is_dead.into()));
        // No job is due before 1970.
        let outside = if descends { i64::MAX } else { -1 };
        let score = after.map_or(Value::Int(outside), |after| Value::count(after.score));
        let id = after.map_or([0; 16], |after| after.id.0);
        let (mysql, others) = if descends { (&NEWEST_MYSQL, &NEWEST_OTHERS) } else { (&DUE_MYSQL, &DUE_OTHERS) };
        let limit = Value::count(limit as u64);
        let id = Value::Bytes(&id);
        let rows = match self.0.dialect().kind {
            Kind::MySql if guard("sql_page_reads_index") => {
                mysql.read(&self.0, &[name, dead, score, score, id, limit]).await?
            }
            _ => others.read(&self.0, &[name, dead, score, id, limit]).await?,
        };
        Ok(job_rows(rows)?)
    }

    async fn heads(&self, topic: &str, ids: &[JobId]) -> Result<Vec<(JobId, JobRow)>, SqlError> {
        Ok(job_rows(self.listed(&HEADS, topic, ids).await?)?)
    }

    async fn sizes(&self, topic: &str, ids: &[JobId]) -> Result<Vec<(JobId, u64)>, SqlError> {
        let rows = self.listed(&SIZES, topic, ids).await?;
        let read = rows.into_iter().map(|row: Row| Ok(row.id(0)?.map(JobId).zip(Some(row.count(1)?))));
        let read: Vec<_> = read.collect::<Result<_, sqlx::Error>>()?;
        Ok(read.into_iter().flatten().collect())
    }

    async fn bodies(&self, topic: &str, ids: &[JobId]) -> Result<Vec<(JobId, JobRow)>, SqlError> {
        Ok(job_rows(self.listed(&BODIES, topic, ids).await?)?)
    }

    async fn count(&self, topic: &str) -> Result<u64, SqlError> {
        Ok(self.number(&COUNT, topic).await?.unwrap_or(0))
    }

    async fn count_dead(&self, topic: &str) -> Result<u64, SqlError> {
        Ok(self.number(&COUNT_DEAD, topic).await?.unwrap_or(0))
    }

    async fn paused(&self, topic: &str) -> Result<Option<u64>, SqlError> {
        self.number(&PAUSED, topic).await
    }

    async fn pause(&self, topic: &str, until: Option<u64>) -> Result<(), SqlError> {
        for _ in 0..TRIES {
            RESUME.run(&self.0, &[Value::Text(topic)]).await?;
            let Some(until) = until else { return Ok(()) };
            let mut connection = self.0.acquire().await?;
            let values = [Value::Text(topic), Value::count(until)];
            match PAUSE.execute(&mut *connection, &values).await {
                // Another process paused the topic in between.
                Err(error) if class_of_error(&error) == SqlErrorClass::Duplicate => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(()),
            }
        }
        Err(SqlError::Busy("other processes are pausing and resuming the topic; try again"))
    }

    async fn forget(&self) -> Result<u64, SqlError> {
        let statement = if self.0.dialect().kind == Kind::MySql { &FORGET_MYSQL } else { &FORGET_OTHERS };
        statement.run(&self.0, &[Value::count(PAGE as u64)]).await
    }
}
