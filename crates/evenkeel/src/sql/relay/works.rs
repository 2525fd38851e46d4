//! The unordered lane: claims rows of works, has their effects carried out, acknowledges.

use super::core::{Core, Looked};
use super::deliver::{Delivery, Fate};
use super::gate::Gate;
use super::metrics::Lane;
use super::rows::{self, Claimed, WAITS};
use super::settings::{AWAY, BACKLOG_MAX, BACKLOG_STEP, ms, unrouted_pause};
use crate::sql::database::Database;
use crate::sql::error::SqlError;
use crate::sql::outbox::WorkId;
use evenkeel_link::Token;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{crash_point, guard};
use std::collections::BTreeMap;
use std::time::Duration;

/// The lane of one relay.
#[derive(Debug, Default)]
pub(super) struct Works {
    delivery: Delivery,
    /// When the last of those comes back that wait for something that is away.
    backlog: Option<Moment>,
    /// Something is there again that rows wait for.
    is_hastening: bool,
    /// What the database did not take yet. Nothing else is claimed before it does, or the claim has ended.
    unsettled: Option<Verdicts>,
}

/// What is to be written down of the works of one claim.
#[derive(Debug)]
struct Verdicts {
    token: Token,
    /// When the claim ends.
    until: Moment,
    done: Vec<WorkId>,
    /// These wait, by pause and reason: no attempt is counted.
    waiting: BTreeMap<(Duration, String), Vec<WorkId>>,
    failed: Vec<(Claimed, String)>,
    /// These wait for a person, and why.
    parked: Vec<(Claimed, String)>,
    looked: Looked,
}

impl Works {
    /// Claims a batch and carries it out.
    pub(super) async fn run_once<DB: Database>(&mut self, core: &Core<DB>) -> Result<Looked, SqlError> {
        let settings = &core.settings;
        self.settle_again(core).await?;
        let mut connection = core.connection().await?;
        if self.is_hastening {
            self.is_hastening = core.within(rows::hasten(&mut connection)).await? > 0;
        }
        match core.within(rows::next_ms::<DB>(&mut connection)).await? {
            Some(0) => {}
            next => return Ok(Looked::idle(next.map_or(settings.poll.delay_max, Duration::from_millis))),
        }
        let (token, began) = (Token::random(), core.clock().now());
        let mut claimed = Vec::new();
        let claim = rows::claim(&mut connection, token, settings.batch, ms(settings.lease), &mut claimed);
        let answer = core.within(claim).await;
        let mut verdicts = Verdicts::under(token, began + settings.lease);
        if let Err(error) = answer {
            // Its answer may have been lost: whatever it has claimed is free again as soon as the database takes that.
            if !claimed.is_empty() {
                let reason = format!("{WAITS}the database did not answer the claim");
                verdicts.waiting.insert((Duration::ZERO, reason), claimed.iter().map(|row| row.work).collect());
                self.unsettled = Some(verdicts);
            }
            return Err(error);
        }
        if claimed.is_empty() {
            // Somebody else holds what is due, or it is nothing that this program knows.
            return Ok(Looked::idle(settings.poll.delay_max));
        }
        crash_point("relay_claimed");
        // Nobody's connection is held while the other side is talked to.
        drop(connection);
        // What is begun later than half of the claim could outlive it.
        let until = began + settings.lease / 2;
        let (fates, has_opened) = self.delivery.carry_out(core, claimed, until).await;
        self.is_hastening |= has_opened;
        crash_point("relay_published");
        self.judge(core, fates, &mut verdicts);
        self.settle(core, verdicts).await
    }

    /// What follows from the fates.
    fn judge<DB: Database>(&mut self, core: &Core<DB>, fates: Vec<(Claimed, Fate)>, verdicts: &mut Verdicts) {
        let now = core.clock().now();
        for (row, fate) in fates {
            match fate {
                Fate::Done => verdicts.done.push(row.work),
                Fate::Away(destinations, error) => {
                    let pause = self.delivery.closed_for(&destinations, now).max(AWAY.delay_min);
                    let reason = rows::short(&format!("{WAITS}{error}"));
                    verdicts.waiting.entry((pause, reason)).or_default().push(row.work);
                }
                Fate::Unrouted(topic) => {
                    core.note_unrouted(&topic);
                    let reason = format!("no sink of this program takes the topic `{topic}`");
                    if row.age >= core.settings.unrouted_max && guard("relay_parks_unrouted") {
                        verdicts.parked.push((row, rows::short(&reason)));
                    } else {
                        verdicts.looked.unrouted += 1;
                        let wait = (unrouted_pause(row.age), rows::short(&reason));
                        verdicts.waiting.entry(wait).or_default().push(row.work);
                    }
                }
                Fate::Failed(error) if self.is_last(core, &row) => verdicts.parked.push((row, rows::short(&error))),
                Fate::Failed(error) => verdicts.failed.push((row, rows::short(&error))),
            }
        }
        verdicts.looked.waiting = verdicts.waiting.values().map(Vec::len).sum();
        for (row, _) in &verdicts.parked {
            self.delivery.forget(row.work);
        }
        if guard("relay_gate") {
            self.pace(now, verdicts);
        }
    }

    fn is_last<DB: Database>(&self, core: &Core<DB>, row: &Claimed) -> bool {
        row.attempts + 1 >= u64::from(core.settings.attempts_max) && guard("relay_parks")
    }

    /// What waits comes back one claim after the other, and not all of it at once: the others get their turn.
    fn pace(&mut self, now: Moment, verdicts: &mut Verdicts) {
        let mut backlog = self.backlog.map_or(Duration::ZERO, |until| until.since(now));
        let waiting = std::mem::take(&mut verdicts.waiting);
        for ((pause, reason), works) in waiting {
            let rows = u32::try_from(works.len()).unwrap_or(u32::MAX);
            let wait = (pause.max(backlog).min(BACKLOG_MAX), reason);
            backlog = backlog.saturating_add(BACKLOG_STEP.saturating_mul(rows)).min(BACKLOG_MAX);
            verdicts.waiting.entry(wait).or_default().extend(works);
        }
        self.backlog = Some(now + backlog);
    }

    /// Writes the verdicts down. What the database does not take is kept for the next look.
    async fn settle<DB: Database>(&mut self, core: &Core<DB>, mut verdicts: Verdicts) -> Result<Looked, SqlError> {
        if let Err(error) = verdicts.write_down(core).await {
            if guard("relay_settles_again") {
                self.unsettled = Some(verdicts);
            }
            return Err(error);
        }
        report(core, &verdicts.looked, self.delivery.gates.values().any(Gate::is_in_doubt));
        Ok(verdicts.looked)
    }

    async fn settle_again<DB: Database>(&mut self, core: &Core<DB>) -> Result<(), SqlError> {
        match self.unsettled.take() {
            Some(verdicts) if core.clock().now() < verdicts.until => self.settle(core, verdicts).await.map(drop),
            // The claim has ended: another relay, or the next look, does these works again.
            _ => Ok(()),
        }
    }
}

impl Verdicts {
    fn under(token: Token, until: Moment) -> Self {
        let (done, failed, parked) = (Vec::new(), Vec::new(), Vec::new());
        Self { token, until, done, waiting: BTreeMap::new(), failed, parked, looked: Looked::default() }
    }

    /// Each statement once: what is written down is struck off.
    async fn write_down<DB: Database>(&mut self, core: &Core<DB>) -> Result<(), SqlError> {
        let token = self.token;
        let mut connection = core.connection().await?;
        let marked = core.within(rows::done::<DB>(&mut connection, token, &self.done)).await?;
        let marked = usize::try_from(marked).unwrap_or(usize::MAX);
        self.looked.carried += marked;
        self.looked.fenced += self.done.len().saturating_sub(marked);
        self.done.clear();
        while let Some(((pause, reason), works)) = self.waiting.first_key_value() {
            core.within(rows::give_back::<DB>(&mut connection, token, works, ms(*pause), reason)).await?;
            self.waiting.pop_first();
        }
        while let Some((row, error)) = self.failed.last() {
            let pause = core.settings.backoff.delay(u32::try_from(row.attempts).unwrap_or(u32::MAX));
            core.within(rows::failed::<DB>(&mut connection, token, row.work, ms(pause), error)).await?;
            self.looked.failed += 1;
            self.failed.pop();
        }
        while let Some((row, error)) = self.parked.last() {
            core.within(rows::park::<DB>(&mut connection, token, row.work, error)).await?;
            let attempts = row.attempts + 1;
            tracing::error!(work = %row.work, attempts, error, "the effects of a work are parked: see `evenkeel outbox park ls`");
            self.looked.parked += 1;
            self.parked.pop();
        }
        Ok(())
    }
}

fn report<DB: Database>(core: &Core<DB>, looked: &Looked, is_in_doubt: bool) {
    let metrics = &core.metrics;
    metrics.carried.increment(looked.carried as u64);
    metrics.fenced.increment(looked.fenced as u64);
    metrics.gate(Lane::Works, is_in_doubt);
    metrics.not_done(Lane::Works, looked);
}
