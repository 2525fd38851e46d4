//! The reader of a source: one process at a time reads, waits until changes are visible, carries them out, and saves a checkpoint.
//!
//! `rows.rs` has the statements, `session.rs` the way from a start of the source to its next error, `batch.rs` what was read and not yet
//! carried out, `apply.rs` the effects. This file has what surrounds sessions: the claim, its renewal, and the pauses after errors.

mod apply;
mod batch;
mod rows;
mod session;

pub(super) use rows::Rows;

use super::capture::GapPolicy;
use super::error::CdcError;
use super::metrics::CdcMetrics;
use super::rules::Rule;
use super::source::Source;
use crate::sql::SqlError;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Backoff, Recurring};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rows::{Claim, PARKED_MAX};
use session::{Ended, Session};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The pauses between attempts while a server is unavailable.
pub(super) const UNAVAILABLE: Backoff =
    Backoff { delay_min: Duration::from_millis(100), delay_max: Duration::from_secs(5) };

/// Parked keys, by the name of their rule and the key.
type ParkedKeys = HashSet<(Arc<str>, Vec<u8>)>;

/// A reader, or a process that waits to become one.
pub(super) struct Reader {
    pub(super) rows: Rows,
    pub(super) clock: Clock,
    pub(super) rules: Vec<Rule>,
    pub(super) lease: Duration,
    pub(super) on_gap: GapPolicy,
    pub(super) metrics: CdcMetrics,
}

/// What the sessions of one claim share with its renewal.
struct Held {
    claim: Claim,
    is_paused: watch::Sender<bool>,
    parked: Mutex<Arc<ParkedKeys>>,
}

impl Reader {
    /// Boxed, so that it is compiled here.
    pub(super) fn run<'a>(
        self,
        mut source: Box<dyn Source>,
        shutdown: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, Result<(), CdcError>> {
        Box::pin(async move {
            let held = Mutex::new(None);
            let ended = tokio::select! {
                biased;
                ended = self.read_on(&mut *source, &held) => ended,
                () = shutdown => Ok(()),
            };
            self.metrics.is_reader.set(0.0);
            let claim = held.lock().take();
            if let Some(claim) = claim {
                // Without it the next reader waits for the lease to end.
                let _ = self.clock.timeout(Duration::from_secs(5), self.rows.release(&claim)).await;
            }
            ended
        })
    }

    /// Becomes the reader again and again, until an error that a person must look at.
    async fn read_on(&self, source: &mut dyn Source, held: &Mutex<Option<Claim>>) -> Result<(), CdcError> {
        let failing = Recurring::default();
        let mut failures = 0;
        loop {
            let claimed = self.rows.claim(self.lease).await;
            failing.log("claim", &claimed, |error, times| {
                tracing::warn!(source = %self.rows.name, %error, times, "change capture cannot read its checkpoint; it retries");
            });
            match claimed {
                Ok(Some(claim)) => {
                    failures = 0;
                    *held.lock() = Some(claim);
                    self.metrics.is_reader.set(1.0);
                    tracing::info!(source = %self.rows.name, fence = claim.fence, "change capture: this process is the reader");
                    self.read_as(claim, source).await?;
                    *held.lock() = None;
                    self.metrics.is_reader.set(0.0);
                    tracing::warn!(source = %self.rows.name, "change capture: another process is the reader now");
                }
                Ok(None) => self.clock.sleep(self.lease / 3).await,
                Err(error @ SqlError::NotMigrated) => return Err(error.into()),
                Err(_) => {
                    self.clock.sleep(UNAVAILABLE.delay(failures)).await;
                    failures = failures.saturating_add(1);
                }
            }
        }
    }

    /// Reads under a claim. Returns without an error when another process has become the reader.
    async fn read_as(&self, claim: Claim, source: &mut dyn Source) -> Result<(), CdcError> {
        let held = Held { claim, is_paused: watch::Sender::new(false), parked: Mutex::default() };
        tokio::select! {
            biased;
            () = self.keep(&held) => Ok(()),
            ended = self.sessions(&held, source) => ended,
        }
    }

    async fn sessions(&self, held: &Held, source: &mut dyn Source) -> Result<(), CdcError> {
        let failing = Recurring::default();
        let mut failures = 0;
        loop {
            let mut session = Session::new(self, held);
            let ended = session.run(source).await;
            if session.has_progressed {
                failures = 0;
            }
            let text = match ended {
                Ended::Superseded => return Ok(()),
                Ended::Stopped(state, error) => {
                    self.note(held, state, Some(&error.to_string())).await;
                    return Err(*error);
                }
                Ended::Unavailable(text) => text,
            };
            failing.log("session", &Err::<(), _>(&text), |error, times| {
                tracing::warn!(source = %self.rows.name, %error, times, "change capture was interrupted; it starts again");
            });
            self.metrics.retries.increment(1);
            self.note(held, "waiting", Some(&text)).await;
            self.clock.sleep(UNAVAILABLE.delay(failures)).await;
            failures = failures.saturating_add(1);
        }
    }

    /// Renews the lease, and reads what operators have changed. Returns when the lease is lost.
    async fn keep(&self, held: &Held) {
        let mut renewed_at = self.clock.now();
        loop {
            self.clock.sleep(self.lease / 3).await;
            let sent_at = self.clock.now();
            match self.rows.renew(&held.claim, self.lease).await {
                Ok(true) => renewed_at = sent_at,
                Ok(false) => return,
                // Until the lease may have ended: another process may be the reader then.
                Err(_) if self.clock.now().since(renewed_at) >= self.lease => return,
                Err(_) => continue,
            }
            let _ = self.look(held).await;
        }
    }

    /// Reads what operators have changed.
    async fn look(&self, held: &Held) -> Result<(), CdcError> {
        let is_paused = self.rows.read().await?.is_some_and(|row| row.is_paused);
        held.is_paused.send_if_modified(|paused| std::mem::replace(paused, is_paused) != is_paused);
        let parked = self.rows.parked(PARKED_MAX + 1).await?;
        if let Some(last) = parked.last().filter(|_| parked.len() > PARKED_MAX) {
            return Err(CdcError::TooManyParked { rule: last.rule.clone(), count: parked.len() });
        }
        let parked = parked.into_iter().map(|row| (Arc::from(row.rule), row.key));
        *held.parked.lock() = Arc::new(parked.collect());
        Ok(())
    }

    /// Records the state for operators, as far as the database can be reached.
    async fn note(&self, held: &Held, state: &'static str, cause: Option<&str>) {
        if let Err(error) = self.rows.note(&held.claim, state, cause).await {
            tracing::debug!(source = %self.rows.name, %error, state, "the state of change capture cannot be recorded");
        }
    }
}
