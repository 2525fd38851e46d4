//! `cargo xtask sim cache|queue|stream|sequences|outbox|units|lock|ids|robustness`: long simulations under faults. Each prints its counts, and
//! fails on any violation. `sim api` sends random requests to the programs.
//!
//! Each other simulation is a test of the library (`cache::histories`, `cache::schedules`, `cache::reads::staleness::mixed`, `queue::side::killed`,
//! `stream::killed`, `stream::side::sequences`, `sql::sim`, `sql::outages`, `lock::histories`,
//! `id::soak`, `robustness`), of which every test run executes a short form. This task runs it for any number of seeds, jobs, entries or transactions.

mod api;
mod summaries;

use crate::shell::{self, cargo};
use crate::test::{self, Park, Suite};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use summaries::{
    cache_summary, eventual_summary, ids_summary, lock_summary, mixed_summary, outbox_summary, queue_summary,
    robustness_summary, schedules_summary, sequence_summary, stream_summary, units_summary,
};

const CACHE: &str = "cache::histories::long_run";
const EVENTUAL: &str = "cache::histories::eventual::long_run";
const SCHEDULES: &str = "cache::schedules::long_run";
const MIXED: &str = "cache::reads::staleness::mixed::long_run";
const SEEDS: &str = "EVENKEEL_SIM_SEEDS";
const LOCK: &str = "lock::histories::long_run";
const QUEUE: &str = "queue::side::killed::long_run";
const JOBS: &str = "EVENKEEL_SIM_JOBS";
const STREAM: &str = "stream::killed::long_run";
const SEQUENCES: &str = "stream::side::sequences::long_run";
const ENTRIES: &str = "EVENKEEL_SIM_ENTRIES";
/// `{}` is the database.
const OUTBOX: &str = "sql::sim::{}::long_run";
const TRANSACTIONS: &str = "EVENKEEL_SIM_OUTBOX";
/// `{}` is the database.
const UNITS: &str = "sql::outages::{}::long_run";
const IDS: &str = "id::soak::long_run";
/// The seed and the number of ids.
const IDS_PLAN: &str = "EVENKEEL_SIM_IDS";
const ROBUSTNESS: &str = "robustness::long_run";
const PLAN: &str = "EVENKEEL_SIM_ROBUSTNESS";
const ROBUSTNESS_TABLE: &str = "| kind | capability | rounds | calls | accepted | refused | misbehaviors | checks | violations |\n\
                                |---|---|--:|--:|--:|--:|--:|--:|--:|";

/// The databases on which units of work are played.
const DATABASES: [&str; 3] = ["sqlite", "mariadb", "postgres"];

/// The kinds of misuse that are played.
const KINDS: [&str; 5] = ["extremes", "hostile", "sizes", "operators", "neighbors"];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    name: Name,
}

#[derive(clap::Args)]
struct Seeds {
    /// Seed to run
    #[arg(conflicts_with = "seeds", required_unless_present = "seeds")]
    seed: Option<u64>,
    /// Range of seeds, for example 1..200, both inclusive
    #[arg(long, value_name = "A..B")]
    seeds: Option<String>,
}

#[derive(clap::Subcommand)]
enum Name {
    /// Send requests that follow, or just miss, the OpenAPI documents of the console and shortlink, and check the answers (needs schemathesis)
    Api(api::Arguments),
    /// Check that strong reads of three processes are linearizable while connections are cut and processes are paused and killed, and that
    /// eventual reads are never older than an acknowledged invalidation, also of loaders that read replicas
    Cache {
        #[command(flatten)]
        seeds: Seeds,
        /// Print one JSON object per seed, and one with the totals
        #[arg(long)]
        json: bool,
    },
    /// Check mutual exclusion, rising fencing tokens and release of the locks, read/write locks and semaphores of three processes that die,
    /// lose connections and drop calls
    Lock {
        #[command(flatten)]
        seeds: Seeds,
        /// Print one JSON object per seed, and one with the totals
        #[arg(long)]
        json: bool,
    },
    /// Check that every job is done while one of four processes is killed every second, and repeated only after an expired lease
    Queue {
        /// Number of jobs
        #[arg(long, default_value_t = 100_000)]
        jobs: u64,
        /// Print the counts as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check that every entry is handled or a dead letter, and each key in order, while one of four processes is killed or stopped every
    /// three seconds and the stream is trimmed
    Stream {
        /// Number of entries
        #[arg(long, default_value_t = 100_000)]
        entries: u64,
        /// Number of keys
        #[arg(long, default_value_t = 500)]
        keys: u64,
        /// Flush Redis once, while entries are appended: only entries that it held then may be lost
        #[arg(long)]
        flush: bool,
        /// Register the stream in a database, and append by units of work: with --flush only dead letters may be lost
        #[arg(long)]
        registered: bool,
        /// Build with optimizations
        #[arg(long)]
        release: bool,
        /// Print the counts as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check that no entry of a key is handled after an earlier one has become a dead letter of a sequence, while Redis refuses settlements
    Sequences {
        #[command(flatten)]
        seeds: Seeds,
        /// Print one JSON object per seed, and one with the totals
        #[arg(long)]
        json: bool,
    },
    /// Check that caches, jobs and messages match the committed rows while eight processes, Redis and the broker are killed
    Outbox {
        /// Seed of the operations and the faults
        #[arg(default_value_t = 1)]
        seed: u64,
        /// Number of transactions on each database
        #[arg(long, default_value_t = 200_000)]
        transactions: u64,
        /// Run only on this database
        #[arg(long, value_parser = ["mariadb", "postgres"])]
        on: Option<String>,
        /// Build with optimizations
        #[arg(long)]
        release: bool,
        /// Print the counts as JSON objects
        #[arg(long)]
        json: bool,
    },
    /// Check that units of work with 1 to 20,000 effects are carried out although Redis goes away, and that their process reads no value
    /// from before its commit meanwhile
    Units {
        #[command(flatten)]
        seeds: Seeds,
        /// Run only on this database
        #[arg(long, value_parser = DATABASES)]
        on: Option<String>,
        /// Print one JSON object per seed, and one with the totals
        #[arg(long)]
        json: bool,
    },
    /// Check that no id is issued twice, of all ids of four processes that end and start while leases end and the store's clock is set
    Ids {
        /// Number of ids
        #[arg(long, default_value_t = 1_000_000_000)]
        ids: u64,
        /// Seed of the steps
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Build with optimizations
        #[arg(long)]
        release: bool,
        /// Print the counts as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check that random misuse fails only its own call: parameters at their extremes, hostile user code, large values next to small ones,
    /// operators' calls before and after a flush of Redis, and foreign values under our keys
    Robustness {
        /// Play only this kind of misuse
        #[arg(long, value_parser = KINDS)]
        only: Option<String>,
        /// Number of rounds of each suite
        #[arg(long, default_value_t = 20, conflicts_with = "minutes")]
        rounds: u64,
        /// Play rounds of all suites in turn for this many minutes
        #[arg(long)]
        minutes: Option<u64>,
        /// Seed of the first round; later rounds count up from it
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Print the counts of each suite as one JSON object
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.name {
        Name::Api(arguments) => api::run(arguments),
        Name::Cache { seeds, json } => cache(&seeds.range()?, *json),
        Name::Lock { seeds, json } => {
            let seeds = seeds.range()?;
            test::build()?;
            play(&Suite::with(LOCK)?, LOCK, (SEEDS, &seeds), *json, lock_summary)
        }
        Name::Units { seeds, on, json } => {
            let seeds = seeds.range()?;
            test::build()?;
            for database in DATABASES.into_iter().filter(|name| on.as_ref().is_none_or(|on| on == name)) {
                println!("== {database}");
                let test = UNITS.replace("{}", database);
                play(&Suite::with(&test)?, &test, (SEEDS, &seeds), *json, units_summary)?;
            }
            Ok(())
        }
        Name::Sequences { seeds, json } => {
            let seeds = seeds.range()?;
            test::build()?;
            play(&Suite::with(SEQUENCES)?, SEQUENCES, (SEEDS, &seeds), *json, sequence_summary)
        }
        Name::Queue { jobs, json } => {
            test::build()?;
            play(&Suite::with(QUEUE)?, QUEUE, (JOBS, &jobs.to_string()), *json, queue_summary)
        }
        Name::Stream { entries, keys, flush, registered, release, json } => {
            if *entries == 0 || *keys == 0 {
                bail!("--entries and --keys must be at least 1");
            }
            let scale = format!("{entries} {keys} {} {}", u8::from(*flush), u8::from(*registered));
            play(&suite(STREAM, *release)?, STREAM, (ENTRIES, &scale), *json, stream_summary)
        }
        Name::Ids { ids, seed, release, json } => {
            if *ids == 0 {
                bail!("--ids must be at least 1");
            }
            play(&suite(IDS, *release)?, IDS, (IDS_PLAN, &format!("{seed} {ids}")), *json, ids_summary)
        }
        Name::Robustness { only, rounds, minutes, seed, json } => {
            if *rounds == 0 || *minutes == Some(0) {
                bail!("--rounds and --minutes must be at least 1");
            }
            let length = minutes.map_or_else(|| format!("rounds {rounds}"), |minutes| format!("minutes {minutes}"));
            let plan = format!("{} {seed} {length}", only.as_deref().unwrap_or("all"));
            test::build()?;
            let suite = Suite::with(ROBUSTNESS)?;
            if !json {
                println!("{ROBUSTNESS_TABLE}");
            }
            play(&suite, ROBUSTNESS, (PLAN, &plan), *json, robustness_summary)
        }
        Name::Outbox { seed, transactions, on, release, json } => {
            for database in ["mariadb", "postgres"].into_iter().filter(|name| on.as_ref().is_none_or(|on| on == name)) {
                println!("== {database}");
                let scale = format!("{seed} {transactions}");
                let test = OUTBOX.replace("{}", database);
                play(&suite(&test, *release)?, &test, (TRANSACTIONS, &scale), *json, outbox_summary)?;
            }
            Ok(())
        }
    }
}

impl Seeds {
    /// The seeds, as `A..B`.
    fn range(&self) -> Result<String> {
        let seeds = match (self.seed, &self.seeds) {
            (Some(seed), _) => format!("{seed}..{seed}"),
            (None, Some(seeds)) => seeds.clone(),
            (None, None) => bail!("add a seed, or a range of seeds with --seeds A..B"),
        };
        let numbers = seeds.split_once("..").map(|(first, last)| (first.parse::<u64>(), last.parse::<u64>()));
        let Some((Ok(first), Ok(last))) = numbers else {
            bail!("`{seeds}` is not a range of seeds: use A..B, for example 1..200")
        };
        if first > last {
            bail!("the range {seeds} is empty: the first seed is above the last");
        }
        Ok(seeds)
    }
}

fn cache(seeds: &str, json: bool) -> Result<()> {
    test::build()?;
    play(&Suite::with(SCHEDULES)?, SCHEDULES, (SEEDS, seeds), json, schedules_summary)?;
    play(&Suite::with(MIXED)?, MIXED, (SEEDS, seeds), json, mixed_summary)?;
    play(&Suite::with(EVENTUAL)?, EVENTUAL, (SEEDS, seeds), json, eventual_summary)?;
    play(&Suite::with(CACHE)?, CACHE, (SEEDS, seeds), json, cache_summary)
}

/// The binary of a test, and what it needs, with or without optimizations.
fn suite(test: &str, is_optimized: bool) -> Result<Suite> {
    if is_optimized {
        shell::run(&mut cargo(&["build", "--workspace", "--bin", "evenkeel-testkit"]))?;
        return Suite::optimized(test);
    }
    test::build()?;
    Suite::with(test)
}

/// Runs the test, and prints its reports as they come.
fn play(
    suite: &Suite,
    test: &str,
    (variable, value): (&str, &str),
    json: bool,
    summary: fn(&Value) -> String,
) -> Result<()> {
    let park = Park::start(&[])?;
    let mut command = suite.command(test);
    command.arg("--ignored").env(variable, value).envs(park.addresses()).stdout(Stdio::piped());
    let mut run = command.spawn().with_context(|| format!("`{}` could not be started", shell::line(&command)))?;
    let lines = BufReader::new(run.stdout.take().context("its output is piped")?).lines();
    for line in lines {
        let line = line?;
        // The test harness prints lines of its own.
        let Ok(row) = serde_json::from_str::<Value>(&line) else { continue };
        println!("{}", if json { line } else { summary(&row) });
    }
    let status = run.wait()?;
    if !status.success() {
        bail!("{variable}={value}: a guarantee was violated, or the run failed ({status})");
    }
    Ok(())
}
