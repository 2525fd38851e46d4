//! Random misuse of each capability: parameters at their extremes, hostile user code, and more. A seed determines each round.
//!
//! A round must end. Whatever is accepted works, whatever is refused is refused with a sentence, and well-behaved work next to it is done
//! right. The tables of single cases are in the folders of the capabilities; these rounds combine their rows.

mod neighbors;
mod round;
mod run;

pub(crate) use round::Round;
pub(crate) use run::panic_text;
use run::{Length, Suite, Tally, play_all};

/// Says what the long run plays: kind (or `all`), first seed, `rounds` or `minutes`, and how many.
const PLAN: &str = "EVENKEEL_SIM_ROBUSTNESS";
/// Rounds of the short form: one on Redis, one on the embedded store.
const ROUNDS: u64 = 2;

/// Suites, and the short form of each as a test.
macro_rules! suites {
    ($($test:ident: $kind:literal of $capability:literal, $($path:ident)::+;)+) => {
        const SUITES: &[Suite] = &[$(Suite {
            kind: $kind,
            capability: $capability,
            play: |round| Box::pin($($path)::+(round)),
        }),+];

        $(#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
        async fn $test() {
            short($kind, $capability).await;
        })+
    };
}

suites! {
    caches_with_random_extremes_work: "extremes" of "cache", crate::cache::reads::robustness::extremes;
    queues_with_random_extremes_work: "extremes" of "queue", crate::queue::side::robustness::extremes;
    locks_with_random_extremes_work: "extremes" of "lock", crate::lock::side::robustness::extremes;
    streams_with_random_extremes_work: "extremes" of "stream", crate::stream::side::robustness::extremes;
    caches_survive_random_hostile_code: "hostile" of "cache", crate::cache::reads::robustness::hostile;
    queues_survive_random_hostile_code: "hostile" of "queue", crate::queue::side::robustness::hostile;
    locks_survive_random_hostile_code: "hostile" of "lock", crate::lock::side::hostile::hostile;
    relays_survive_random_hostile_code: "hostile" of "sql", crate::sql::relay::hostile;
    spools_survive_random_hostile_code: "hostile" of "spool", crate::spool::robustness::hostile;
    streams_survive_random_hostile_code: "hostile" of "stream", crate::stream::side::robustness::hostile;
    caches_of_random_large_values_serve_small_ones: "sizes" of "cache", crate::cache::reads::robustness::sizes;
    queues_of_random_large_bodies_serve_small_ones: "sizes" of "queue", crate::queue::side::robustness::sizes;
    streams_of_random_large_values_serve_small_ones: "sizes" of "stream", crate::stream::side::robustness::sizes;
    sql_with_random_extremes_works: "extremes" of "sql", crate::sql::robustness::extremes;
    sql_with_random_large_messages_serves_small_ones: "sizes" of "sql", crate::sql::robustness::sizes;
    redlocks_with_random_extremes_work: "extremes" of "redlock", crate::lock::redlock::robustness::extremes;
    spools_with_random_extremes_work: "extremes" of "spool", crate::spool::robustness::extremes;
    links_with_random_extremes_work: "extremes" of "link", crate::link::robustness::extremes;
    operators_agree_with_programs_in_random_order: "operators" of "queue", crate::sql::jobs::robustness::operators;
    random_foreign_values_stop_only_their_keys: "neighbors" of "all", neighbors::neighbors;
}

/// The same code as the long run, with fixed seeds.
async fn short(kind: &str, capability: &str) {
    let suite = SUITES.iter().find(|suite| suite.kind == kind && suite.capability == capability).unwrap();
    let mut tally = Tally::new(suite, 1);
    for seed in 1..=ROUNDS {
        tally.play(suite, seed).await;
    }
    println!("{}", serde_json::to_string(&tally).unwrap());
    assert_eq!(tally.violations, 0, "{tally:?}");
    assert!(tally.has_tried_something(), "a check of nothing shows nothing: {tally:?}");
}

/// The long run of `cargo xtask sim robustness`: one line a suite.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
#[ignore = "the long run, for `cargo xtask sim robustness`"]
async fn long_run() {
    let Ok(plan) = std::env::var(PLAN) else { return };
    let [kind, seed, unit, count] = plan.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let count = count.parse().unwrap();
    let length = if unit == "rounds" { Length::Rounds(count) } else { Length::Minutes(count) };
    let suites: Vec<&Suite> = SUITES.iter().filter(|suite| kind == "all" || suite.kind == kind).collect();
    let all = play_all(&suites, seed.parse().unwrap(), length).await;
    for tally in &all {
        println!("{}", serde_json::to_string(tally).unwrap());
    }
    assert_eq!(all.iter().map(|tally| tally.violations).sum::<u64>(), 0, "{all:?}");
    assert!(!all.is_empty() && all.iter().all(Tally::has_tried_something), "a check of nothing shows nothing: {all:?}");
}
