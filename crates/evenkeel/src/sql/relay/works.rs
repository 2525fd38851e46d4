//! The unordered lane: claims rows of works, carries their effects out, acknowledges.

use super::core::{Core, Looked};
use super::gate::Gate;
use super::metrics::Lane;
use super::rows::{self, Claimed};
use super::settings::{AWAY, ms};
use crate::clock::Moment;
use crate::crash::crash_point;
use crate::guard::guard;
use crate::sql::database::Database;
use crate::sql::error::SqlError;
use crate::sql::outbox::{Carrier, WorkId, format};
use crate::token::Token;
use futures_util::stream::{self, StreamExt};
use std::sync::Arc;
use std::time::Duration;

/// Works that are carried out at the same time.
const CONCURRENCY: usize = 64;

/// The lane of one relay.
#[derive(Debug, Default)]
pub(super) struct Works {
    gate: Gate,
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
    /// Nobody was there for these: due again after the pause.
    away: Vec<WorkId>,
    pause: Duration,
    away_error: String,
    failed: Vec<(Claimed, String)>,
    looked: Looked,
}

/// What became of one work.
enum Fate {
    Done,
    /// Nobody was there: no attempt is counted.
    Away(String),
    Failed(String),
}

impl Works {
    /// Claims a batch and carries it out.
    pub(super) async fn run_once<DB: Database>(&mut self, core: &Core<DB>) -> Result<Looked, SqlError> {
        let settings = &core.settings;
        if let Some(left) = self.gate.closed_for(core.clock().now()) {
            return Ok(Looked::idle(left));
        }
        self.settle_again(core).await?;
        let mut connection = core.connection().await?;
        match core.within(rows::next_ms::<DB>(&mut connection)).await? {
            Some(0) => {}
            next => return Ok(Looked::idle(next.map_or(settings.poll.delay_max, Duration::from_millis))),
        }
        let (token, began) = (Token::random(), core.clock().now());
        let limit = if self.gate.is_in_doubt() { 1 } else { settings.batch };
        let mut claimed = Vec::new();
        let claim = rows::claim(&mut connection, token, limit, ms(settings.lease), &mut claimed);
        let answer = core.within(claim).await;
        let mut verdicts = Verdicts::under(token, began + settings.lease);
        if let Err(error) = answer {
            // Its answer may have been lost: whatever it has claimed is free again as soon as the database takes that.
            verdicts.away = claimed.iter().map(|row| row.work).collect();
            verdicts.away_error = "the database did not answer the claim".to_owned();
            self.unsettled = Some(verdicts).filter(|verdicts| !verdicts.away.is_empty());
            return Err(error);
        }
        crash_point("relay_claimed");
        // Nobody's connection is held while the other side is talked to.
        drop(connection);
        let fates = self.carry_out(core, claimed, began).await;
        crash_point("relay_published");
        self.judge(core, fates, &mut verdicts);
        self.settle(core, verdicts).await
    }

    async fn carry_out<DB: Database>(
        &self,
        core: &Core<DB>,
        claimed: Vec<Claimed>,
        began: Moment,
    ) -> Vec<(Claimed, Fate)> {
        let carrier = Carrier::new(core.keel.clone(), Some(Arc::new(core.sinks.clone())));
        // What is begun later than this could outlive the claim.
        let until = began + core.settings.lease / 2;
        let carried = stream::iter(claimed).map(|row| {
            let carrier = &carrier;
            async move {
                let fate = if core.clock().now() < until {
                    carry(core, carrier, &row).await
                } else {
                    Fate::Away("its turn did not come within the claim".to_owned())
                };
                (row, fate)
            }
        });
        carried.buffer_unordered(CONCURRENCY).collect().await
    }

    /// What follows from the fates, for the rows and for the gate.
    fn judge<DB: Database>(&mut self, core: &Core<DB>, fates: Vec<(Claimed, Fate)>, verdicts: &mut Verdicts) {
        for (row, fate) in fates {
            match fate {
                Fate::Done => verdicts.done.push(row.work),
                Fate::Away(error) => {
                    verdicts.away.push(row.work);
                    verdicts.away_error = rows::short(&error);
                }
                Fate::Failed(error) => verdicts.failed.push((row, rows::short(&error))),
            }
        }
        verdicts.looked.waiting = verdicts.away.len();
        let is_all_away = verdicts.done.is_empty() && verdicts.failed.is_empty();
        if !verdicts.away.is_empty() && is_all_away {
            tracing::warn!(error = verdicts.away_error, "nobody takes the effects of the outbox now; they wait");
            verdicts.pause = self.gate.closed(core.clock().now());
        } else if !verdicts.away.is_empty() {
            verdicts.pause = AWAY.delay(4);
        } else if !is_all_away {
            self.gate.opened();
        }
    }

    /// Writes the verdicts down. What the database does not take is kept for the next look.
    async fn settle<DB: Database>(&mut self, core: &Core<DB>, mut verdicts: Verdicts) -> Result<Looked, SqlError> {
        if let Err(error) = verdicts.write_down(core).await {
            if guard("relay_settles_again") {
                self.unsettled = Some(verdicts);
            }
            return Err(error);
        }
        report(core, &verdicts.looked, &self.gate);
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
        let (done, away, failed) = (Vec::new(), Vec::new(), Vec::new());
        let (pause, away_error) = (Duration::ZERO, String::new());
        Self { token, until, done, away, pause, away_error, failed, looked: Looked::default() }
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
        if !self.away.is_empty() {
            let pause_ms = ms(self.pause);
            core.within(rows::give_back::<DB>(&mut connection, token, &self.away, pause_ms, &self.away_error)).await?;
            self.away.clear();
        }
        while let Some((row, error)) = self.failed.last() {
            fail(core, &mut connection, token, row, error, &mut self.looked).await?;
            self.failed.pop();
        }
        Ok(())
    }
}

async fn fail<DB: Database>(
    core: &Core<DB>,
    connection: &mut DB::Connection,
    token: Token,
    row: &Claimed,
    error: &str,
    looked: &mut Looked,
) -> Result<(), SqlError> {
    let attempts = u32::try_from(row.attempts + 1).unwrap_or(u32::MAX);
    if attempts >= core.settings.attempts_max && guard("relay_parks") {
        core.within(rows::park::<DB>(connection, token, row.work, error)).await?;
        looked.parked += 1;
        tracing::error!(work = %row.work, attempts, error, "the effects of a work are parked: see `evenkeel outbox park ls`");
        return Ok(());
    }
    let pause = core.settings.backoff.delay(attempts - 1);
    core.within(rows::failed::<DB>(connection, token, row.work, ms(pause), error)).await?;
    looked.failed += 1;
    Ok(())
}

async fn carry<DB: Database>(core: &Core<DB>, carrier: &Carrier, row: &Claimed) -> Fate {
    let effects = match format::decode(row.effects.clone()) {
        Ok(effects) => effects,
        Err(error) => return Fate::Failed(error.to_string()),
    };
    let work: WorkId = row.work;
    match core.clock().timeout(core.settings.deadline, carrier.carry_out(work, &effects)).await {
        Ok(Ok(())) => Fate::Done,
        Ok(Err(error)) if error.is_away() && guard("relay_away_is_no_attempt") => Fate::Away(error.to_string()),
        Ok(Err(error)) => Fate::Failed(error.to_string()),
        Err(_) => Fate::Away("no answer in time".to_owned()),
    }
}

fn report<DB: Database>(core: &Core<DB>, looked: &Looked, gate: &Gate) {
    let metrics = &core.metrics;
    metrics.carried.increment(looked.carried as u64);
    metrics.fenced.increment(looked.fenced as u64);
    metrics.gate(Lane::Works, gate.is_in_doubt());
    for (reason, rows) in [("away", looked.waiting), ("failed", looked.failed), ("parked", looked.parked)] {
        if rows > 0 {
            metrics.failed(Lane::Works, reason, rows);
        }
    }
}
