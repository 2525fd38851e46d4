//! Limits: checks of a rate, a window and three levels, compared with the commands of a fixed window, `INCR` and `EXPIRE`; and Redis's time for
//! one. The server runs on one core, the client on another.

use crate::client;
use crate::info;
use crate::load;
use crate::pin;
use crate::results::Keeper;
use crate::rounds::{Plan, compare};
use crate::row::Row;
use anyhow::{Result, ensure};
use evenkeel::Keel;
use evenkeel::limit::{Limit, Rate, Window};
use redis::aio::MultiplexedConnection;
use std::future::Future;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

const BENCH: &str = "limit";
const UNIT: &str = "checks/s";
const FIXED: &str = "INCR and EXPIRE in one pipeline";
const WHY: &str =
    "a script reads and writes a bucket for each level. A fixed window admits twice its limit around its end";
const TASKS: [usize; 2] = [1, 64];
/// Subjects that the checks are divided among.
const SUBJECTS: u64 = 1_000;
/// So many that none is refused.
const MANY: u32 = 1_000_000;
const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn run(plan: &Plan, keeper: &mut Keeper) -> Result<()> {
    pin::this_thread(pin::CLIENT_CORE)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let redis = Redis::start(RedisOptions::new()).await?;
        pin::process(redis.process_id(), pin::SERVER_CORE)?;
        let keel = Keel::connect(&redis.url()).await?;
        let fixed = client::connect(&redis.url()).await?;
        let rate = || Rate::new(MANY, SECOND);
        let kinds = [
            ("a rate", keel.limit("rate").level("one", rate()).open().await?, 1),
            ("a window", keel.limit("window").level("one", Window::new(MANY, SECOND)).open().await?, 1),
            (
                "three levels",
                keel.limit("levels").level("one", rate()).level("two", rate()).level("three", rate()).open().await?,
                3,
            ),
        ];
        for (name, limit, levels) in kinds {
            for tasks in TASKS {
                let (ours, theirs) =
                    (|span| checks(&limit, levels, tasks, span), |span| fixed_windows(&fixed, tasks, span));
                let found = compare(plan, ours, theirs).await?;
                let row = Row::compared(BENCH, format!("{name}, {tasks} tasks"), UNIT, FIXED, found);
                keeper.keep([row.where_behind(WHY)])?;
            }
            let tasks = TASKS[1];
            let ours = |span| cpu(&redis, span, checks(&limit, levels, tasks, span));
            let theirs = |span| cpu(&redis, span, fixed_windows(&fixed, tasks, span));
            let found = compare(&plan.shortened(), ours, theirs).await?;
            let row = Row::compared(BENCH, format!("Redis's time for a check of {name}"), "µs", FIXED, found);
            keeper.keep([row.where_behind(WHY)])?;
        }
        Ok(())
    })
}

/// What is compared with, for the head of the results.
pub(crate) fn versions() -> String {
    FIXED.to_owned()
}

async fn checks(limit: &Limit, levels: usize, tasks: usize, span: Duration) -> Result<f64> {
    let limit = limit.clone();
    load::rate(tasks, span, move |random| {
        let limit = limit.clone();
        async move {
            let subject = (random % SUBJECTS).to_string();
            let decision = limit.check(&vec![subject.as_str(); levels]).await?;
            ensure!(decision.is_admitted(), "a check was refused: {decision:?}");
            Ok(())
        }
    })
    .await
}

async fn fixed_windows(connection: &MultiplexedConnection, tasks: usize, span: Duration) -> Result<f64> {
    let connection = connection.clone();
    load::rate(tasks, span, move |random| {
        let mut connection = connection.clone();
        async move {
            let key = format!("fixed:{}", random % SUBJECTS);
            let mut both = redis::pipe();
            both.cmd("INCR").arg(&key).cmd("EXPIRE").arg(&key).arg(1);
            let (count, _): (u32, bool) = both.query_async(&mut connection).await?;
            ensure!(count <= MANY, "a check was refused");
            Ok(())
        }
    })
    .await
}

/// Redis's time for each, in µs; `measured` says how many there were in a second.
async fn cpu(redis: &Redis, span: Duration, measured: impl Future<Output = Result<f64>>) -> Result<f64> {
    let before = info::cpu(redis).await?;
    let checks = measured.await? * span.as_secs_f64();
    Ok((info::cpu(redis).await? - before) * 1e6 / checks)
}
