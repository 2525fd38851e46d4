//! C2: histories of fresh reads and of writes in update windows, of three processes with eight tasks each, while connections
//! are cut, processes are paused, and a writer is killed inside its window. The source of truth is a SQLite file.
//!
//! A history is linearizable, or it is one in which a commit was acknowledged after its window had expired (a pause was
//! longer than a window): those are counted apart, with the resulting staleness.

mod eventual;
mod faults;
mod fleet;
mod tally;
mod worker;

use faults::Faults;
use fleet::Fleet;
use tally::{Seed, Tally, Verdict};
use testkit::park::redis;

/// Says which seeds the long run tries: `A..B`, both included.
pub(super) const SEEDS: &str = "EVENKEEL_SIM_SEEDS";

// shows: C2, cache::Cache::write, cache::Cache::write_with, cache::Cache::write_many, cache::Freshness::Fresh
#[tokio::test]
async fn fresh_reads_stay_linearizable_under_faults() {
    let tally = run(1..=3, None).await;
    assert_eq!(tally.violations, 0, "{tally}");
    assert!(tally.fresh_reads > 500 && tally.writes > 50, "a check of nothing shows nothing: {tally}");
}

/// With writers that open no windows, the same checker finds violations.
// shows: C2
#[tokio::test]
async fn checker_finds_violation_without_windows() {
    for seed in 1..=20 {
        if run(seed..=seed, Some("update_window")).await.violations > 0 {
            return;
        }
    }
    panic!("twenty histories without windows, and each of them linearizable");
}

/// The long run of `cargo xtask sim cache`: one line a seed, and one with the sums.
#[tokio::test]
#[ignore = "the long run, for `cargo xtask sim cache`"]
async fn long_run() {
    let Ok(seeds) = std::env::var(SEEDS) else { return };
    let (first, last) = seeds.split_once("..").unwrap();
    let tally = run(first.parse().unwrap()..=last.parse().unwrap(), None).await;
    println!("{}", serde_json::to_string(&tally).unwrap());
    assert_eq!(tally.violations, 0, "{tally}");
}

async fn run(seeds: std::ops::RangeInclusive<u64>, mutant: Option<&str>) -> Tally {
    let server = redis().await.unwrap();
    let mut tally = Tally::default();
    for seed in seeds {
        let faults = Faults::draw(seed);
        let played = Fleet::start(&server, seed, mutant).await.play(&faults).await;
        // Without windows none can have expired: no history is counted separately.
        let seed = Seed::evaluate(seed, &played, mutant.is_none());
        println!("{}", serde_json::to_string(&seed).unwrap());
        if let Verdict::Violation(timeline) = &seed.verdict {
            eprintln!("seed {} is not linearizable; `cargo xtask sim cache {}` plays it again", seed.seed, seed.seed);
            eprintln!("{faults:?}\n{timeline}");
        }
        tally.add(&seed);
    }
    tally
}
