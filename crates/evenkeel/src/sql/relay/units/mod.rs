//! The worker for units of work: claims their rows, has their effects carried out, and marks them as done.

mod claim;
mod deliver;

use super::core::{Core, PassReport};
use super::gate::Gate;
use super::metrics::Worker;
use super::rows::{self, Claimed, WAITS};
use super::settings::{BACKLOG_MAX, BACKLOG_STEP, RESULTS_KEPT, UNAVAILABLE, unrouted_pause};
use crate::sql::error::SqlError;
use crate::sql::outbox::WorkId;
use claim::Claim;
use deliver::{Delivery, UnitOutcome};
use evenkeel_link::Token;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{Tried, crash_point, guard, ms};
use std::collections::BTreeMap;
use std::time::Duration;

/// The worker of one relay.
#[derive(Debug, Default)]
pub(super) struct Units {
    delivery: Delivery,
    /// When the last of the rows that wait for an unavailable destination is due.
    backlog: Option<Moment>,
    /// A destination for which rows wait is available again.
    is_expediting: bool,
    /// Whether it has looked for rows that wait since before it started.
    has_looked: bool,
    /// When it last found no row that is due too far in the future.
    recalled: Option<Moment>,
    /// Results that could not be stored yet. Nothing else is claimed before they are stored, for a minute.
    unsettled: Option<Settlement>,
}

/// The results of the units of work of one claim, to be stored.
#[derive(Debug)]
struct Settlement {
    token: Token,
    /// Until when they are kept: their token decides whether they may still be stored.
    until: Moment,
    done: Vec<WorkId>,
    /// Units of work that wait, by delay and reason: no attempt is counted.
    waiting: BTreeMap<(Duration, String), Vec<WorkId>>,
    failed: Vec<(Claimed, String)>,
    /// Units of work to be parked, with the error.
    parked: Vec<(Claimed, String)>,
    report: PassReport,
}

impl Units {
    /// Claims a batch and carries it out.
    pub(super) async fn run_once(&mut self, core: &Core) -> Result<PassReport, SqlError> {
        let settings = &core.settings;
        self.settle_pending(core).await?;
        let mut connection = core.connection().await?;
        self.is_expediting |= self.delivery.reopen_store(core);
        // At the start, because the process that gave rows back may have died before it could expedite them.
        if self.is_expediting || !self.has_looked {
            self.is_expediting = core.within(rows::expedite(&mut connection)).await? > 0;
            self.has_looked = true;
        }
        let now = core.clock().now();
        if settings.recalls(self.recalled, now) {
            let recall = rows::recall(&mut connection, ms(settings.far()), ms(settings.lease));
            self.recalled = (core.within(recall).await? == 0).then_some(now);
        }
        match core.within(rows::next_ms(&mut *connection)).await? {
            Some(0) => {}
            next => return Ok(PassReport::idle(next.map_or(settings.poll.delay_max, Duration::from_millis))),
        }
        let (token, began) = (Token::random(), core.clock().now());
        let mut claimed = Vec::new();
        let claim = rows::claim(&mut connection, token, settings.batch, ms(settings.lease), &mut claimed);
        let answer = core.within(claim).await;
        let mut settlement = Settlement::under(token, began + RESULTS_KEPT);
        if let Err(error) = answer {
            // The reply to the claim may have been lost: the rows are given back as soon as the database is available.
            if !claimed.is_empty() {
                let reason = format!("{WAITS}the database did not reply to the claim");
                settlement.waiting.insert((Duration::ZERO, reason), claimed.iter().map(|row| row.work).collect());
                self.unsettled = Some(settlement);
            }
            return Err(error);
        }
        if claimed.is_empty() {
            // Another relay has claimed the due rows, or this program does not know their state.
            return Ok(PassReport::idle(settings.poll.delay_max));
        }
        crash_point("relay_claimed");
        // No connection is held while effects are carried out.
        drop(connection);
        let claim = Claim::new(token, began, settings.lease, &claimed);
        let carried = self.delivery.carry_out(core, claimed, &claim);
        let (outcomes, has_opened) = Box::pin(claim.renewed_during(core, carried)).await;
        let has_carried = outcomes.iter().any(|(_, outcome)| matches!(outcome, UnitOutcome::Done));
        self.is_expediting = has_opened || (self.is_expediting && has_carried);
        crash_point("relay_published");
        self.classify(core, outcomes, &mut settlement);
        self.settle(core, settlement).await
    }

    /// Decides how each unit of work continues.
    fn classify(&mut self, core: &Core, outcomes: Vec<(Claimed, UnitOutcome)>, settlement: &mut Settlement) {
        let now = core.clock().now();
        for (row, outcome) in outcomes {
            match outcome {
                UnitOutcome::Done => settlement.done.push(row.work),
                UnitOutcome::Unavailable(destinations, error) => {
                    let pause = self.delivery.closed_for(&destinations, now).max(UNAVAILABLE.delay_min);
                    let reason = core.short(&format!("{WAITS}{error}"));
                    settlement.waiting.entry((pause, reason)).or_default().push(row.work);
                }
                UnitOutcome::Unrouted(topic) => {
                    core.log_unrouted(&topic);
                    let reason = format!("no sink of this program accepts the topic `{topic}`");
                    if row.age >= core.settings.unrouted_max && guard("relay_parks_unrouted") {
                        settlement.parked.push((row, core.short(&reason)));
                    } else {
                        settlement.report.unrouted += 1;
                        let wait = (unrouted_pause(row.age), core.short(&reason));
                        settlement.waiting.entry(wait).or_default().push(row.work);
                    }
                }
                UnitOutcome::Failed(error) if self.is_last_attempt(core, &row) => {
                    settlement.parked.push((row, core.short(&error)));
                }
                UnitOutcome::Failed(error) => settlement.failed.push((row, core.short(&error))),
            }
        }
        settlement.report.waiting = settlement.waiting.values().map(Vec::len).sum();
        for (row, _) in &settlement.parked {
            self.delivery.forget(row.work);
        }
        if guard("relay_gate") {
            self.pace(now, settlement);
        }
    }

    fn is_last_attempt(&self, core: &Core, row: &Claimed) -> bool {
        row.attempts + 1 >= u64::from(core.settings.attempts_max) && guard("relay_parks")
    }

    /// Spreads the due times of waiting rows, so that other rows are claimed in between.
    fn pace(&mut self, now: Moment, settlement: &mut Settlement) {
        let mut backlog = self.backlog.map_or(Duration::ZERO, |until| until.since(now));
        let waiting = std::mem::take(&mut settlement.waiting);
        for ((pause, reason), units) in waiting {
            let rows = u32::try_from(units.len()).unwrap_or(u32::MAX);
            let wait = (pause.max(backlog).min(BACKLOG_MAX), reason);
            backlog = backlog.saturating_add(BACKLOG_STEP.saturating_mul(rows)).min(BACKLOG_MAX);
            settlement.waiting.entry(wait).or_default().extend(units);
        }
        self.backlog = Some(now + backlog);
    }

    /// Stores the results. If the database is unavailable they are kept for the next pass.
    async fn settle(&mut self, core: &Core, mut settlement: Settlement) -> Result<PassReport, SqlError> {
        if let Err(error) = settlement.store(core).await {
            if guard("relay_settles_again") {
                self.unsettled = Some(settlement);
            }
            return Err(error);
        }
        report(core, &settlement.report, self.delivery.gates.values().any(Gate::is_in_doubt));
        Ok(settlement.report)
    }

    async fn settle_pending(&mut self, core: &Core) -> Result<(), SqlError> {
        match self.unsettled.take() {
            Some(settlement) if core.clock().now() < settlement.until => self.settle(core, settlement).await.map(drop),
            // Another relay, or the next pass, carries out these units of work again.
            _ => Ok(()),
        }
    }
}

impl Settlement {
    fn under(token: Token, until: Moment) -> Self {
        let (done, failed, parked) = (Vec::new(), Vec::new(), Vec::new());
        Self { token, until, done, waiting: BTreeMap::new(), failed, parked, report: PassReport::default() }
    }

    /// Runs each statement once: results are removed from the list as soon as they are stored. One that the database rejects stops no
    /// other, and stays in its list.
    async fn store(&mut self, core: &Core) -> Result<(), SqlError> {
        let (token, mut tried) = (self.token, Tried::unless(SqlError::is_retryable));
        let mut connection = core.connection().await?;
        let marked = core.within(rows::done(&mut *connection, token, &self.done)).await;
        if let Some(marked) = tried.note(marked)? {
            let marked = usize::try_from(marked).unwrap_or(usize::MAX);
            self.report.carried += marked;
            self.report.fenced += self.done.len().saturating_sub(marked);
            self.done.clear();
        }
        let waits: Vec<(Duration, String)> = self.waiting.keys().cloned().collect();
        for wait in waits {
            let (pause, reason) = &wait;
            let given_back = rows::give_back(&mut *connection, token, &self.waiting[&wait], ms(*pause), reason);
            if tried.note(core.within(given_back).await)?.is_some() {
                self.waiting.remove(&wait);
            }
        }
        let mut at = 0;
        while let Some((row, error)) = self.failed.get(at) {
            let pause = core.settings.backoff.delay(u32::try_from(row.attempts).unwrap_or(u32::MAX));
            let stored = rows::record_failure(&mut *connection, token, row.work, Some(ms(pause)), error);
            if tried.note(core.within(stored).await)?.is_some() {
                self.report.failed += 1;
                self.failed.swap_remove(at);
            } else {
                at += 1;
            }
        }
        at = 0;
        while let Some((row, error)) = self.parked.get(at) {
            let stored = rows::record_failure(&mut *connection, token, row.work, None, error);
            if tried.note(core.within(stored).await)?.is_some() {
                let attempts = row.attempts + 1;
                tracing::error!(work = %row.work, attempts, error, "the effects of a unit of work are parked: see `evenkeel outbox park ls`");
                self.report.parked += 1;
                self.parked.swap_remove(at);
            } else {
                at += 1;
            }
        }
        tried.finish()
    }
}

fn report(core: &Core, report: &PassReport, is_in_doubt: bool) {
    let metrics = &core.metrics;
    metrics.carried.increment(report.carried as u64);
    metrics.fenced.increment(report.fenced as u64);
    metrics.gate(Worker::Units, is_in_doubt);
    metrics.not_done(Worker::Units, report);
}
