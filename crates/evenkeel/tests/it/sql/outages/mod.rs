//! U1 and C1 for units of work with any number of effects, while Redis goes away and comes back.

mod history;

use super::rig::{Rig, Sql, in_time};
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::testing::TestClock;
use history::tally::Tally;
use history::{Plan, play};
use sqlx::Sqlite;
use std::time::Duration;
use testkit::Door;
use testkit::park::redis;

/// Says which seeds the long run tries: `A..B`, both included.
const SEEDS: &str = "EVENKEEL_SIM_SEEDS";

/// A short response time, so that a connection that was cut is noticed soon.
fn quick(url: &str, prefix: &str) -> String {
    format!("{url}?prefix={prefix}&response_timeout_ms=1000&connect_timeout_ms=1000&heartbeat_ms=100")
}

async fn until_up(keel: &Keel, is_up: bool) {
    let mut state = keel.link().unwrap().state();
    state.wait_for(|state| state.is_up() == is_up).await.unwrap();
}

/// Eight links were banned in one unit of work while Redis was away. The first invalidation failed, the others were never begun: neither
/// were they pending, nor were their near values dropped, and the instance served seven of the links for another ten seconds.
// shows: U2, hazard BW1
#[tokio::test]
async fn every_invalidation_is_pending_during_an_outage() {
    in_time(Box::pin(async {
        let server = redis().await.unwrap();
        let door = Door::closed(&server.url).unwrap();
        door.open();
        let keel = Keel::connect(&quick(&door.url(&server.url).unwrap(), &server.prefix)).await.unwrap();
        let rig = Rig::<Sqlite>::with(keel).await;
        let links: Cache<i64, i64> = rig.keel.cache("links").ttl(Duration::from_secs(600)).open().await.unwrap();
        let get = async |value: i64| {
            let mut found = Vec::new();
            for key in 0..8 {
                let load = async move { Ok::<_, std::io::Error>(Some(value)) };
                found.push(links.get(&key, |_| load).await.unwrap().map(|value| *value));
            }
            found
        };
        assert_eq!(get(1).await, [Some(1); 8]);
        door.close();
        until_up(&rig.keel, false).await;
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        for key in 0..8 {
            work.invalidate(&links, &key).unwrap();
        }
        assert!(!work.commit().await.unwrap().carried_out);
        door.open();
        until_up(&rig.keel, true).await;
        assert_eq!(get(2).await, [Some(2); 8]);
    }))
    .await;
}

/// A foreign value under a key of one queue kept the jobs of all others from being sent.
// shows: U1, hazard BW1
#[tokio::test]
async fn jobs_are_sent_although_another_queue_fails() {
    in_time(Box::pin(async {
        let server = redis().await.unwrap();
        let keel = Keel::connect(&quick(&server.url, &server.prefix)).await.unwrap();
        let rig = Rig::<Sqlite>::with(keel).await;
        let queue = async |name: &str| rig.keel.queue::<u32>(name).shards(1).open().await.unwrap();
        let (sick, well) = (queue("sick").await, queue("well").await);
        let tag = format!("{{{}:q:sick:0}}", server.prefix);
        let mut foreign = redis::cmd("SET");
        foreign.arg(format!("{tag}:due:0")).arg("a text of another program");
        rig.keel.link().unwrap().command(tag.as_bytes(), &foreign).await.unwrap();
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        let failed = work.enqueue(sick.job(&1)).unwrap();
        let sent = work.enqueue(well.job(&2)).unwrap();
        assert!(!work.commit().await.unwrap().carried_out);
        assert!(well.find(&sent).await.unwrap().is_some() && sick.find(&failed).await.unwrap().is_none());
    }))
    .await;
}

/// The relay tried Redis at intervals of up to five seconds, and waited for the end of the last one after Redis was back. The clock of the
/// relay stands still here.
// shows: hazard BW3
#[tokio::test]
async fn effects_are_carried_out_once_the_link_is_up() {
    in_time(Box::pin(async {
        let server = redis().await.unwrap();
        let door = Door::closed(&server.url).unwrap();
        door.open();
        let builder = Keel::builder().clock(TestClock::default().clock());
        let keel = builder.connect(&quick(&door.url(&server.url).unwrap(), &server.prefix)).await.unwrap();
        let rig = Rig::<Sqlite>::with(keel).await;
        door.close();
        until_up(&rig.keel, false).await;
        let mut work = rig.keel.begin(&rig.pool).await.unwrap();
        work.invalidate(&rig.stock, &1).unwrap();
        assert!(!work.commit().await.unwrap().carried_out);
        Sqlite::run(&mut rig.pool.acquire().await.unwrap(), "UPDATE evenkeel_outbox SET due_at = 1").await.unwrap();
        let relay = rig.keel.relay(&rig.pool);
        assert_eq!(relay.run_once().await.unwrap().waiting, 1);
        door.open();
        until_up(&rig.keel, true).await;
        assert_eq!(relay.run_once().await.unwrap().carried, 1);
    }))
    .await;
}

/// Of a unit with more invalidations than the link takes at once, each attempt began with the first again, and none ever came to the end.
// shows: U1, hazard BW1, hazard BW2, hazard BW11
async fn units_of_any_size_are_carried_out_after_outages<DB: Sql>() {
    let tally = run::<DB>(1..=2, Plan { units: 4, effects_max: 700, in_flight_max: 100 }).await;
    assert_eq!(tally.violations(), 0, "{tally:?}");
    assert!(tally.largest == 700 && tally.left > 0 && tally.outages > 0, "a check of nothing: {tally:?}");
}

/// The long run of `cargo xtask sim units`: one line a seed, and one with the sums.
async fn long_run<DB: Sql>() {
    let Ok(seeds) = std::env::var(SEEDS) else { return };
    let (first, last) = seeds.split_once("..").unwrap();
    let plan = Plan { units: 8, effects_max: 20_000, in_flight_max: 10_000 };
    let tally = run::<DB>(first.parse().unwrap()..=last.parse().unwrap(), plan).await;
    println!("{}", serde_json::to_string(&tally).unwrap());
    assert_eq!(tally.violations(), 0, "{tally:?}");
}

macro_rules! on_each_server {
    ($($name:ident: $database:ty;)+) => {$(
        mod $name {
            // shows: U1, hazard BW1, hazard BW2, hazard BW11
            #[tokio::test]
            async fn units_of_any_size_are_carried_out_after_outages() {
                Box::pin(super::units_of_any_size_are_carried_out_after_outages::<$database>()).await;
            }

            #[tokio::test]
            #[ignore = "the long run, for `cargo xtask sim units`"]
            async fn long_run() {
                Box::pin(super::long_run::<$database>()).await;
            }
        }
    )+};
}

on_each_server! {
    sqlite: sqlx::Sqlite;
    mariadb: sqlx::MySql;
    postgres: sqlx::Postgres;
}

async fn run<DB: Sql>(seeds: std::ops::RangeInclusive<u64>, plan: Plan) -> Tally {
    let server = redis().await.unwrap();
    let mut all = Tally::default();
    for seed in seeds {
        let one = Box::pin(play::<DB>(&server, seed, plan)).await;
        println!("{}", serde_json::to_string(&one).unwrap());
        all.add(&one);
    }
    all
}
