//! Commits per second with one effect, and the time from an acknowledged commit to its effect.

use super::{ACCOUNTS, BENCH, Bank, Stand, TASKS};
use crate::load::rate;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::{Result, ensure};
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use std::sync::Arc;

const PEER: &str = "bare transaction, no effect";
const BY_HAND: &str = "one UPDATE and one INSERT by hand, without a relay";
/// Longer than this an effect does not take; the fast path gives up before.
const MICROS_MAX: u64 = 10_000_000;

type Times = Arc<Mutex<Histogram<u64>>>;

/// The statements of a transaction in addition to its effect.
#[derive(Clone, Copy)]
enum Size {
    /// Five statements.
    Booking,
    /// One.
    Update,
}

impl Size {
    fn name(self) -> &'static str {
        match self {
            Self::Booking => "pgbench's transaction",
            Self::Update => "one UPDATE",
        }
    }

    async fn run<DB: Bank>(self, connection: &mut DB::Connection, account: u64) -> Result<()> {
        let account = i64::try_from(account)?;
        match self {
            Self::Booking => DB::book(connection, account).await?,
            Self::Update => DB::add(connection, account).await?,
        }
        Ok(())
    }
}

pub(crate) async fn run<DB: Bank>(plan: &Plan, stand: &Stand<DB>, database: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (size, tasks) in [Size::Booking, Size::Update].into_iter().flat_map(|size| TASKS.map(|tasks| (size, tasks))) {
        let times: Times = Arc::new(Mutex::new(Histogram::new_with_max(MICROS_MAX, 3)?));
        let ours = |span| {
            let (stand, times) = (stand.clone(), Arc::clone(&times));
            rate(tasks, span, move |random| work(stand.clone(), size, Arc::clone(&times), random % ACCOUNTS))
        };
        let peer = |span| {
            let stand = stand.clone();
            rate(tasks, span, move |random| bare(stand.clone(), size, random % ACCOUNTS))
        };
        let found = compare(&plan.lengthened(), &ours, peer).await?;
        let title = format!("{} and one invalidation, {database}, {tasks} at once", size.name());
        rows.push(Row::compared(BENCH, title, "commits/s", PEER, found));
        if matches!(size, Size::Booking) {
            continue;
        }
        let peer = |span| {
            let stand = stand.clone();
            rate(tasks, span, move |random| by_hand(stand.clone(), random))
        };
        let by_hand = compare(&plan.lengthened().shortened(), ours, peer).await?;
        let title =
            format!("one UPDATE and one invalidation, compared with an INSERT by hand, {database}, {tasks} at once");
        rows.push(Row::compared(BENCH, title, "commits/s", BY_HAND, by_hand));
        let times = times.lock();
        for (name, quantile) in [("p50", 0.5), ("p99", 0.99)] {
            let title = format!("from the commit to its effect, {name}, {database}, {tasks} at once");
            rows.push(Row::alone(BENCH, title, "µs", times.value_at_quantile(quantile) as f64, None));
        }
    }
    Ok(rows)
}

async fn work<DB: Bank>(stand: Stand<DB>, size: Size, times: Times, account: u64) -> Result<()> {
    let mut work = stand.keel.begin(&stand.pool).await?;
    size.run::<DB>(work.tx(), account).await?;
    work.invalidate(&stand.accounts, &account)?;
    let committed = work.commit().await?;
    ensure!(committed.carried_out, "an effect was left to a relay, and there is none");
    let micros = u64::try_from(committed.took.as_micros())?.clamp(1, MICROS_MAX);
    times.lock().record(micros)?;
    Ok(())
}

async fn bare<DB: Bank>(stand: Stand<DB>, size: Size, account: u64) -> Result<()> {
    let mut transaction = stand.pool.begin().await?;
    size.run::<DB>(&mut transaction, account).await?;
    transaction.commit().await?;
    Ok(())
}

/// Its ids are in the order of time, as those of units of work.
async fn by_hand<DB: Bank>(stand: Stand<DB>, random: u64) -> Result<()> {
    let mut transaction = stand.pool.begin().await?;
    DB::add(&mut transaction, i64::try_from(random % ACCOUNTS)?).await?;
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_nanos();
    DB::note(&mut transaction, (nanos << 64) | u128::from(random)).await?;
    transaction.commit().await?;
    Ok(())
}
