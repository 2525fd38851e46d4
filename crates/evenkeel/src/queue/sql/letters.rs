//! Dead letters with rows: their bodies. And why a job with a row is where it is.

use super::operate::{TRIES, contended};
use super::source_of_truth::JobRows;
use super::table::JobRow;
use crate::queue::sending::for_work::job_record;
use crate::queue::topic::Why;
use evenkeel_link::support::guard;
use evenkeel_protocol::queue::error::QueueError;
use evenkeel_protocol::queue::job::{End, JobId, Note};
use evenkeel_protocol::queue::record::decode_error;
use evenkeel_protocol::queue::steps::{Amend, Amended, Head, State};

impl JobRows {
    /// Replaces the body of a dead letter, if it is the one seen.
    pub(crate) async fn amend(&self, amend: Amend) -> Result<Amended, QueueError> {
        let id = amend.id;
        for _ in 0..TRIES {
            // Ticks of schedules have no row.
            let Some(row) = self.ask(self.table.row(&self.topic, id)).await? else {
                return self.router.amend(amend).await;
            };
            if !row.is_live {
                return Ok(row.ended_as.map_or(Amended::Unknown, Amended::Ended));
            }
            if !row.is_dead {
                let is_dead_in_store = matches!(self.head(id).await?, Some(Head::Live { state: State::Dead, .. }));
                if !is_dead_in_store || row.is_redriven {
                    return Ok(Amended::NotDead);
                }
                // Older versions did not record deaths in rows.
                self.mark_dead_as_in_store(&[id]).await?;
                continue;
            }
            let mut job = self.job_of(&row)?;
            if job.spec.body == amend.body && job.spec.codec == amend.codec {
                return Ok(Amended::Changed);
            }
            if job.spec.body != amend.seen && guard("sql_amend_seen") {
                return Ok(Amended::Other);
            }
            (job.spec.body, job.spec.codec) = (amend.body.clone(), amend.codec);
            let version = row.version + 1;
            let changed = JobRow { version, record: job_record(&job.spec, version), ..row.clone() };
            if !guard("sql_amend_row") || self.ask(self.table.change(&self.topic, id, &row, &changed)).await? {
                let put = self.put_of_row(id, &changed)?;
                self.store_updated("a dead letter was amended", &self.router.put(&[put]).await);
                return Ok(Amended::Changed);
            }
        }
        Err(contended(id))
    }

    /// Why a job is where it is, given what the store says. The row decides whether it lives.
    pub(crate) async fn why(&self, id: JobId, in_store: Why) -> Result<Why, QueueError> {
        let Some(row) = self.ask(self.table.row(&self.topic, id)).await? else { return Ok(in_store) };
        if !row.is_live {
            let end = row.ended_as.unwrap_or(End::Done);
            // The store also knows the time.
            return Ok(if matches!(in_store, Why::Ended { end: held, .. } if held == end) {
                in_store
            } else {
                Why::Ended { end, at: None }
            });
        }
        let is_dead_in_store = matches!(in_store, Why::Dead { .. });
        if row.is_dead {
            let error = if row.failure.is_empty() { None } else { Some(decode_error(row.failure.clone())?) };
            let error = match error {
                Some(Note::Error(error)) => String::from_utf8_lossy(&error.text).into_owned(),
                _ => "no error was noted".to_owned(),
            };
            let dead = Why::Dead { at: row.due_at, errors: row.errors, error };
            return Ok(if is_dead_in_store { in_store } else { dead });
        }
        let is_missing = matches!(in_store, Why::Unknown | Why::Ended { .. }) || (is_dead_in_store && row.is_redriven);
        if !is_missing {
            return Ok(in_store);
        }
        let due_at = row.due_at;
        let is_beyond = due_at >= self.horizon_ms(self.store.now_ms());
        Ok(if is_beyond { Why::InSql { due_at } } else { Why::NotRestored { due_at } })
    }
}
