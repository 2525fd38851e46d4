//! `cargo xtask sim cache|queue|stream|outbox|lock`: long simulations under faults. Each prints its counts, and fails on any violation.
//!
//! Each simulation is a test of the library (`cache::histories`, `queue::side::killed`, `stream::killed`, `sql::sim`, `lock::histories`), of
//! which every test run executes a short form. This task runs it for any number of seeds, jobs, entries or transactions.

use crate::shell::{self, cargo};
use crate::test::{self, Park, Suite};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const CACHE: &str = "cache::histories::long_run";
const EVENTUAL: &str = "cache::histories::eventual::long_run";
const SEEDS: &str = "EVENKEEL_SIM_SEEDS";
const LOCK: &str = "lock::histories::long_run";
const QUEUE: &str = "queue::side::killed::long_run";
const JOBS: &str = "EVENKEEL_SIM_JOBS";
const STREAM: &str = "stream::killed::long_run";
const ENTRIES: &str = "EVENKEEL_SIM_ENTRIES";
/// `{}` is the database.
const OUTBOX: &str = "sql::sim::{}::long_run";
const TRANSACTIONS: &str = "EVENKEEL_SIM_OUTBOX";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    name: Name,
}

#[derive(clap::Subcommand)]
enum Name {
    /// Check that strong reads of three processes are linearizable while connections are cut and processes are paused and killed, and that
    /// eventual reads are never older than an acknowledged invalidation
    Cache {
        /// Seed to run
        #[arg(conflicts_with = "seeds", required_unless_present = "seeds")]
        seed: Option<u64>,
        /// Range of seeds, for example 1..200, both inclusive
        #[arg(long, value_name = "A..B")]
        seeds: Option<String>,
        /// Print one JSON object per seed, and one with the totals
        #[arg(long)]
        json: bool,
    },
    /// Check mutual exclusion, rising fencing tokens and release of the locks, read/write locks and semaphores of three processes that die,
    /// lose connections and drop calls
    Lock {
        /// Seed to run
        #[arg(conflicts_with = "seeds", required_unless_present = "seeds")]
        seed: Option<u64>,
        /// Range of seeds, for example 1..200, both inclusive
        #[arg(long, value_name = "A..B")]
        seeds: Option<String>,
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
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.name {
        Name::Cache { seed, seeds, json } => cache(*seed, seeds.as_deref(), *json),
        Name::Lock { seed, seeds, json } => {
            let seeds = range(*seed, seeds.as_deref())?;
            test::build()?;
            play(&Suite::with(LOCK)?, LOCK, (SEEDS, &seeds), *json, lock_summary)
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

/// The seeds, as `A..B`.
fn range(seed: Option<u64>, seeds: Option<&str>) -> Result<String> {
    let seeds = match (seed, seeds) {
        (Some(seed), _) => format!("{seed}..{seed}"),
        (None, Some(seeds)) => seeds.to_owned(),
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

fn cache(seed: Option<u64>, seeds: Option<&str>, json: bool) -> Result<()> {
    let seeds = range(seed, seeds)?;
    test::build()?;
    play(&Suite::with(EVENTUAL)?, EVENTUAL, (SEEDS, &seeds), json, eventual_summary)?;
    play(&Suite::with(CACHE)?, CACHE, (SEEDS, &seeds), json, cache_summary)
}

/// The counts of the eventual reads of one seed, or of all.
fn eventual_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} histories up to seed {}: {} eventual reads, {} stale after an acknowledged invalidation, {} failed; {} invalidations \
         acknowledged, {} of unknown outcome; {} entries deleted and {} overwritten, {} connections made again",
        number("eventual_histories"),
        number("eventual_seed"),
        number("reads"),
        number("stale"),
        number("failed_reads"),
        number("writes"),
        number("unknown_writes"),
        number("deleted"),
        number("overwritten"),
        number("cut_connections"),
    )
}

/// The counts of one history of locks, or of all.
fn lock_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} histories up to seed {}: {} holds, {} violations; {} busy, {} failed, {} lost, {} broken, {} leaked, {} acquisitions \
         dropped; {} processes died",
        number("lock_histories"),
        number("lock_seed"),
        number("holds"),
        number("violations"),
        number("busy"),
        number("failed"),
        number("lost"),
        number("broken"),
        number("leaked"),
        number("dropped_acquires"),
        number("died"),
    )
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

/// The counts of the queue's simulation.
fn queue_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} jobs, {} workers killed in {:.0} s: {} effects, {} jobs lost; {} repeated effects, {} of them without an expired lease in the \
         job's record, {} after a worker that was still alive; {} expired leases",
        number("jobs"),
        number("kills"),
        row["seconds"].as_f64().unwrap_or(0.0),
        number("effects"),
        number("lost"),
        number("twice"),
        number("twice_without_lease_expiry"),
        number("twice_after_the_living"),
        number("lease_expiries"),
    )
}

/// The counts of the simulation of streams.
fn stream_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} entries of {} keys, {} processes killed and {} stopped in {:.0} s, {} leases of partitions: {} effects, {} dead letters; {} \
         entries lost, {} done and dead, {} dead twice, {} effects out of the order of their key; {} repeated runs, {} of them under the \
         same lease; {} transactions of a former owner refused; {} entries trimmed{}",
        number("entries"),
        number("keys"),
        number("kills"),
        number("stops"),
        row["seconds"].as_f64().unwrap_or(0.0),
        number("leases"),
        number("effects"),
        number("dead_letters"),
        number("lost"),
        number("done_and_dead"),
        number("dead_twice"),
        number("out_of_order"),
        number("twice"),
        number("twice_under_one_fence"),
        number("refused"),
        number("trimmed"),
        match number("flushed") {
            0 if number("sent_again") == 0 => String::new(),
            held => format!(
                "; a flush of Redis could lose {held} entries and lost {}; {} were sent again",
                number("lost_in_flush"),
                number("sent_again"),
            ),
        },
    )
}

/// The progress of the outbox's simulation; at the end, the comparison with SQL.
fn outbox_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    let seconds = row["seconds"].as_f64().unwrap_or(0.0);
    if row.get("progress").is_some() {
        return format!(
            "{:>7} of {} transactions in {seconds:.0} s; {} processes killed, Redis {} and the broker {} times",
            number("progress"),
            number("transactions"),
            number("kills"),
            number("redis_restarts"),
            number("broker_restarts"),
        );
    }
    let copies = |name: &str| row["copies"][name].as_u64().unwrap_or(0);
    let lines = [
        format!(
            "{} transactions committed in {seconds:.0} s, {} rolled back, {} refused (a window was not confirmed), {} in conflict, {} of \
             unknown outcome; {} processes killed, Redis {} and the broker {} times",
            number("committed"),
            number("rolled_back"),
            number("refused"),
            number("failed"),
            number("unknown"),
            number("kills"),
            number("redis_restarts"),
            number("broker_restarts"),
        ),
        String::new(),
        "| expected from SQL | compared | violations |".to_owned(),
        "|---|--:|--:|".to_owned(),
        format!(
            "| completed units of work | {} | {} |",
            number("committed"),
            number("works_not_done") + number("parked")
        ),
        format!(
            "| fresh cache entries ({} of {} accounts had one) | {} | {} |",
            number("entries_held"),
            number("accounts"),
            number("entries_held"),
            number("stale")
        ),
        format!("| waiting jobs | {} | {} |", number("jobs"), number("jobs_wrong")),
        format!("| absent jobs ({} revoked) | {} | {} |", number("revoked"), number("revoked"), number("jobs_strange")),
        format!(
            "| ordered messages, by key | {} | {} of {} keys |",
            number("ordered"),
            number("lanes_wrong"),
            number("lanes")
        ),
        format!("| unordered messages | {} | {} |", number("loose"), number("loose_lost") + number("loose_strange")),
        String::new(),
        format!(
            "duplicate unordered messages: {}; {} after the death of their first sender, {} around an outage, {} because the sender was \
             slow, {} unexplained. Duplicate ordered messages: {}",
            copies("all"),
            copies("after_a_kill"),
            copies("after_an_outage"),
            copies("late"),
            copies("unexplained"),
            number("ordered_copies"),
        ),
    ];
    lines.join("\n")
}

/// The counts of the cache's simulation: of one seed, or of all.
fn cache_summary(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    if row.get("histories").is_some() {
        return format!(
            "{} histories: {} linearizable, {} violations, {} excluded (a commit after its update window had expired), {} of those with \
             {} stale reads, at most {:.0} ms stale; {} strong reads ({} from the store), {} failed; {} writes acknowledged, {} \
             refused, {} of unknown outcome; {} writers killed and {} paused inside a window",
            number("histories"),
            number("linearizable"),
            number("violations"),
            number("apart"),
            number("apart_with_stale_reads"),
            number("stale_reads"),
            row["staleness_ms_max"].as_f64().unwrap_or(0.0),
            number("fresh_reads"),
            number("from_store"),
            number("failed_reads"),
            number("writes"),
            number("refused_writes"),
            number("unknown_writes"),
            number("killed"),
            number("paused"),
        );
    }
    let verdict = match &row["verdict"] {
        Value::String(verdict) => verdict.clone(),
        Value::Object(verdict) => verdict.keys().cloned().collect(),
        other => other.to_string(),
    };
    format!(
        "seed {}: {verdict}; {} reads from the store and {} from the loader, {} writes",
        number("seed"),
        number("from_store"),
        number("from_loader"),
        number("acknowledged"),
    )
}
