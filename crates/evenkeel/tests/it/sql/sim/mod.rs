//! U1 to U3 under fire: processes that commit random transactions and run relays are killed, Redis and the broker are killed and
//! come back, and at the end every cache entry, job and stream is compared with what SQL says.
//!
//! Redis hands its append-only file to the operating system before it replies, so killing it loses nothing that it has
//! acknowledged, and any difference is the library's fault. A cache entry may be missing (it is loaded again); a stale one
//! is a failure.

mod compare;
mod copies;
mod driver;
mod faults;
mod held;
mod servers;
mod transaction;
mod worker;

use super::rig::Sql;
use compare::Findings;
use driver::Run;
use faults::Scale;
use servers::Servers;

/// Says how much the long run does: `SEED TRANSACTIONS`.
const LONG: &str = "EVENKEEL_SIM_OUTBOX";

/// (Every hand-made outbox) A process died between its commit and Redis, and the effects never reached Redis.
// shows: U1, sql::Work::commit, spec/unit-of-work.md
async fn effects_match_sql_after_random_kills<DB: Sql>() {
    let (servers, findings) = play::<DB>(Scale::small()).await;
    assert!(findings.committed >= 100 && findings.entries_held > 0 && findings.ordered > 0, "{findings:?}");
    comparison_finds_differences(&servers).await;
    servers.close().await;
}

/// The SQL rows are changed behind the library's back: a comparison that cannot fail shows nothing.
// shows: spec/unit-of-work.md
async fn comparison_finds_differences<DB: Sql>(servers: &Servers<DB>) {
    for change in [
        "UPDATE accounts SET units = units + 1",
        "UPDATE jobs SET body = COALESCE(body, 0) + 1",
        "UPDATE said SET number = number + 1",
        "UPDATE loose SET number = -number",
        "UPDATE nameless SET body = body + 1",
    ] {
        servers.run(change).await;
    }
    let found = Findings::of(servers).await;
    assert_eq!(found.stale, found.entries_held, "{found:?}");
    assert_eq!(
        (found.jobs_wrong, found.ordering_keys_wrong),
        (found.jobs + found.revoked, found.ordering_keys),
        "{found:?}"
    );
    assert_eq!((found.loose_lost, found.loose_strange), (found.loose, found.loose), "{found:?}");
}

/// The long run of `cargo xtask sim outbox`: a line now and then, and one with everything at the end.
async fn long_run<DB: Sql>() {
    let Ok(words) = std::env::var(LONG) else { return };
    let (seed, transactions) = words.split_once(' ').expect("SEED TRANSACTIONS");
    let (servers, _) = play::<DB>(Scale::long(seed.parse().unwrap(), transactions.parse().unwrap())).await;
    servers.close().await;
}

async fn play<DB: Sql>(scale: Scale) -> (Servers<DB>, Findings) {
    let mut servers = Servers::<DB>::open(&scale).await;
    let run = Run::play(&mut servers, &scale).await;
    let mut findings = Findings::of(&servers).await;
    findings.add(&run);
    let words = serde_json::to_string(&findings).unwrap();
    println!("{words}");
    // As this text: with each message of a long run it would be megabytes.
    assert_eq!(findings.wrong(), 0, "{words}");
    (servers, findings)
}

macro_rules! on_each_server {
    ($($name:ident: $database:ty;)+) => {$(
        mod $name {
            // shows: U1, sql::Work::commit, spec/unit-of-work.md
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn effects_match_sql_after_random_kills() {
                Box::pin(super::effects_match_sql_after_random_kills::<$database>()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            #[ignore = "the long run, for `cargo xtask sim outbox`"]
            async fn long_run() {
                Box::pin(super::long_run::<$database>()).await;
            }
        }
    )+};
}

on_each_server! {
    mariadb: sqlx::MySql;
    postgres: sqlx::Postgres;
}
