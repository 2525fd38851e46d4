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

/// Works that are carried out at the same time.
const CONCURRENCY: usize = 64;

/// The lane of one relay.
#[derive(Debug, Default)]
pub(super) struct Works {
    gate: Gate,
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
        let mut connection = core.connection().await?;
        match core.within(rows::next_ms::<DB>(&mut connection)).await? {
            Some(0) => {}
            next => return Ok(Looked::idle(next.map_or(settings.poll.delay_max, std::time::Duration::from_millis))),
        }
        let (token, began) = (Token::random(), core.clock().now());
        let limit = if self.gate.is_in_doubt() { 1 } else { settings.batch };
        let claimed = core.within(rows::claim(&mut connection, token, limit, ms(settings.lease))).await?;
        crash_point("relay_claimed");
        // Nobody's connection is held while the other side is talked to.
        drop(connection);
        let fates = self.carry_out(core, claimed, began).await;
        crash_point("relay_published");
        self.settle(core, token, fates).await
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

    async fn settle<DB: Database>(
        &mut self,
        core: &Core<DB>,
        token: Token,
        fates: Vec<(Claimed, Fate)>,
    ) -> Result<Looked, SqlError> {
        let (mut done, mut away, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        let mut last_error = String::new();
        for (row, fate) in fates {
            match fate {
                Fate::Done => done.push(row.work),
                Fate::Away(error) => {
                    away.push(row.work);
                    last_error = rows::short(&error);
                }
                Fate::Failed(error) => failed.push((row, rows::short(&error))),
            }
        }
        let mut looked = Looked { waiting: away.len(), ..Looked::default() };
        let mut connection = core.connection().await?;
        let marked = core.within(rows::done::<DB>(&mut connection, token, &done)).await?;
        looked.carried = usize::try_from(marked).unwrap_or(done.len());
        looked.fenced = done.len().saturating_sub(looked.carried);
        if !away.is_empty() {
            let pause = if done.is_empty() && failed.is_empty() {
                tracing::warn!(error = last_error, "nobody takes the effects of the outbox now; they wait");
                self.gate.closed(core.clock().now())
            } else {
                AWAY.delay(4)
            };
            core.within(rows::give_back::<DB>(&mut connection, token, &away, ms(pause), &last_error)).await?;
        } else if !done.is_empty() || !failed.is_empty() {
            self.gate.opened();
        }
        for (row, error) in failed {
            self.fail(core, &mut connection, token, &row, &error, &mut looked).await?;
        }
        report(core, &looked, &self.gate);
        Ok(looked)
    }

    async fn fail<DB: Database>(
        &self,
        core: &Core<DB>,
        connection: &mut DB::Connection,
        token: Token,
        row: &Claimed,
        error: &str,
        looked: &mut Looked,
    ) -> Result<(), SqlError> {
        let attempts = u32::try_from(row.attempts + 1).unwrap_or(u32::MAX);
        if attempts >= core.settings.attempts_max && guard("relay_parks") {
            looked.parked += 1;
            tracing::error!(work = %row.work, attempts, error, "the effects of a work are parked: see `evenkeel outbox park ls`");
            return core.within(rows::park::<DB>(connection, token, row.work, error)).await;
        }
        looked.failed += 1;
        let pause = core.settings.backoff.delay(attempts - 1);
        core.within(rows::failed::<DB>(connection, token, row.work, ms(pause), error)).await
    }
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
