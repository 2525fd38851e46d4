//! Effects that programs in other languages insert by plain SQL, as JSON in `evenkeel_outbox_json`: a relay moves each row into
//! `evenkeel_outbox`, in one transaction, where it is a unit of work like all others. docs/spec/unit-of-work.md has the format.
//!
//! `requests` has the JSON, `ready` the effects that it becomes, `rows` the statements.

mod ready;
mod requests;
mod rows;

use super::core::{Core, PassReport};
use super::settings::unrouted_pause;
use crate::sql::database::{Connection, PooledConnection};
use crate::sql::error::SqlError;
use crate::sql::outbox::Effect;
use crate::sql::work::{join, seal};
use evenkeel_link::support::{crash_point, guard};
use ready::{NotReady, Topics};
use rows::Inserted;
use std::sync::Arc;
use std::time::Duration;

/// How many rows one transaction moves.
const BATCH: usize = 50;

/// Moves rows of `evenkeel_outbox_json`; one per relay.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// The last transaction failed, and not because the database was unavailable: rows are moved one by one until the cause is found.
    one_by_one: bool,
    /// The last pass failed, and its error was logged.
    has_failed: bool,
}

/// What happens to a row.
enum Plan {
    Move(Vec<Effect>),
    /// This relay cannot move it now.
    Wait(String),
    /// No relay can move it.
    Park(String),
}

impl Intake {
    /// Moves the first rows. An error is logged and returned as none: units of work do not wait for these rows.
    pub(super) async fn run_once(&mut self, core: &Core) -> PassReport {
        match self.move_rows(core).await {
            Ok(report) => {
                self.has_failed = false;
                report
            }
            Err(error) => {
                core.metrics.call_failed("intake");
                if !std::mem::replace(&mut self.has_failed, true) {
                    tracing::warn!(%error, "the relay could not read the effects in evenkeel_outbox_json");
                }
                PassReport::idle(core.settings.poll.delay_max)
            }
        }
    }

    async fn move_rows(&mut self, core: &Core) -> Result<PassReport, SqlError> {
        let mut connection = core.connection().await?;
        let limit = if self.one_by_one { 1 } else { BATCH };
        let found = core.within(rows::due(&mut *connection, limit)).await?;
        if found.is_empty() {
            self.one_by_one = false;
            return Ok(PassReport::idle(core.settings.poll.delay_max));
        }
        // Redis is asked without a connection to the database in hand.
        drop(connection);
        let mut topics = Topics::default();
        let mut planned = Vec::with_capacity(found.len());
        for row in found {
            let plan = plan(core, &row, &mut topics).await;
            planned.push((row, plan));
        }
        let mut connection = core.connection().await?;
        match core.within(move_all(core, &mut connection, &planned)).await {
            Err(error) if !error.is_retryable() => self.isolate(core, &mut connection, planned, error).await,
            answer => answer,
        }
    }

    /// After an error of the database that a repetition does not mend, finds the row that causes it, and parks it.
    async fn isolate(
        &mut self,
        core: &Core,
        connection: &mut PooledConnection,
        mut planned: Vec<(Inserted, Plan)>,
        error: SqlError,
    ) -> Result<PassReport, SqlError> {
        let is_found = planned.len() == 1;
        self.one_by_one = !is_found;
        match planned.pop() {
            Some((row, _)) if is_found => {
                core.within(move_all(core, connection, &[(row, Plan::Park(error.to_string()))])).await
            }
            _ => Err(error),
        }
    }
}

/// Decides about a row before the transaction begins, because that asks Redis about topics.
async fn plan(core: &Core, row: &Inserted, topics: &mut Topics) -> Plan {
    let requests = match requests::parse(&row.effects) {
        Ok(requests) => requests,
        Err(error) => return Plan::Park(error),
    };
    for topic in requests.iter().filter_map(requests::EffectRequest::queue) {
        match topics.look_up(core, topic).await {
            Ok(()) => {}
            // The program that opens the queue may not have started yet.
            Err(NotReady::Unknown(error)) => {
                let is_late = row.age >= core.settings.unrouted_max || !guard("json_waits_for_topic");
                return if is_late { Plan::Park(error) } else { Plan::Wait(error) };
            }
            Err(NotReady::Unavailable(error)) if guard("json_waits_for_redis") => return Plan::Wait(error),
            Err(NotReady::Unavailable(error)) => return Plan::Park(error),
        }
    }
    let effects = requests.into_iter().enumerate().map(|(index, request)| {
        let what = request.name();
        let of = |error| format!("effect {} ({what}): {error}", index + 1);
        ready::of(core, row, request, topics).map_err(of)
    });
    match effects.collect::<Result<Vec<_>, _>>() {
        Ok(effects) => Plan::Move(effects.concat()),
        Err(error) => Plan::Park(error),
    }
}

/// Moves rows in one transaction: each is deleted, and inserted as a unit of work.
async fn move_all(
    core: &Core,
    connection: &mut PooledConnection,
    planned: &[(Inserted, Plan)],
) -> Result<PassReport, SqlError> {
    let mut transaction = super::rows::begin(connection).await?;
    let mut report = PassReport::idle(Duration::ZERO);
    for (row, plan) in planned {
        match plan {
            Plan::Wait(error) => {
                let error = core.short(error);
                let waiting = rows::postpone(&mut *transaction, row.id, unrouted_pause(row.age), &error);
                waiting.await?;
                report.unrouted += 1;
            }
            Plan::Move(effects) => {
                report.parked += usize::from(!move_row(core, &mut *transaction, row, Ok(effects)).await?);
            }
            Plan::Park(error) => {
                report.parked += usize::from(!move_row(core, &mut *transaction, row, Err(error)).await?);
            }
        }
    }
    transaction.commit().await?;
    crash_point("json_moved");
    Ok(report)
}

/// Moves one row. Returns `false` if it is parked: its effects cannot be carried out as they stand.
async fn move_row(
    core: &Core,
    transaction: &mut Connection,
    row: &Inserted,
    effects: Result<&[Effect], &str>,
) -> Result<bool, SqlError> {
    if !rows::delete(transaction, row.id).await? {
        // Another relay has moved it.
        return Ok(true);
    }
    let mut joined = join(Arc::clone(&core.shared), transaction).await?;
    let work = joined.id();
    let recorded = effects.map_err(str::to_owned).and_then(|effects| {
        effects.iter().try_for_each(|effect| joined.record(effect.clone()).map_err(|error| error.to_string()))
    });
    let error = match recorded {
        Ok(()) => match seal(joined, transaction).await {
            Ok(_sealed) => {
                if guard("json_due_at_once") {
                    rows::due_now(transaction, work).await?;
                }
                return Ok(true);
            }
            Err(error @ SqlError::TooLarge { .. }) => error.to_string(),
            Err(error) => return Err(error),
        },
        Err(error) => error,
    };
    let error = core.short(&format!("row {} of evenkeel_outbox_json: {error}", row.id));
    tracing::error!(%work, row = row.id, error, "effects of evenkeel_outbox_json are parked: see `evenkeel outbox park ls`");
    rows::park(transaction, work, &row.effects, &error).await?;
    Ok(false)
}
