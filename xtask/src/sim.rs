//! `cargo xtask sim cache|queue|outbox|lock`: the long runs. What they tried and what broke is counted; anything that broke fails.
//!
//! Each is a test of the library (`cache::histories`, `queue::side::killed`, `sql::sim`, `lock::histories`), which tries a little in every test run. Here it is
//! run for as many seeds, or jobs, as are wanted.

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
/// `{}` is the database.
const OUTBOX: &str = "sql::sim::{}::long_run";
const TRANSACTIONS: &str = "EVENKEEL_SIM_OUTBOX";

/// What `sim` was asked for.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    name: Name,
}

#[derive(clap::Subcommand)]
enum Name {
    /// Fresh reads and writes of three processes while connections are cut and processes are paused and killed: linearizable? And
    /// eventual reads while loads exceed their budget and entries are deleted or overwritten: none older than what was acknowledged?
    Cache {
        /// One seed, to play it again
        #[arg(conflicts_with = "seeds", required_unless_present = "seeds")]
        seed: Option<u64>,
        /// Many: `1..200`, both included
        #[arg(long, value_name = "A..B")]
        seeds: Option<String>,
        /// One JSON object a seed, and one with the sums
        #[arg(long)]
        json: bool,
    },
    /// Locks, read/write locks and semaphores of three processes that die, lose connections and drop calls: do holds exclude each
    /// other, do fences rise, is everything free again?
    Lock {
        /// One seed, to play it again
        #[arg(conflicts_with = "seeds", required_unless_present = "seeds")]
        seed: Option<u64>,
        /// Many: `1..200`, both included
        #[arg(long, value_name = "A..B")]
        seeds: Option<String>,
        /// One JSON object a seed, and one with the sums
        #[arg(long)]
        json: bool,
    },
    /// Jobs handled by four processes, one of them killed every second: is each done, and each second effect after a lapse?
    Queue {
        /// How many jobs
        #[arg(long, default_value_t = 100_000)]
        jobs: u64,
        /// The counts as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Random transactions of eight processes that are killed, with Redis and the broker: is everything as SQL says?
    Outbox {
        /// Draws what is done and what goes wrong when
        #[arg(default_value_t = 1)]
        seed: u64,
        /// How many transactions, on each database
        #[arg(long, default_value_t = 200_000)]
        transactions: u64,
        /// Only on this database
        #[arg(long, value_parser = ["mariadb", "postgres"])]
        on: Option<String>,
        /// Build the processes with optimizations: for a run of the whole length
        #[arg(long)]
        release: bool,
        /// The counts as JSON objects
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
            play(&Suite::with(LOCK)?, LOCK, (SEEDS, &seeds), *json, lock_words)
        }
        Name::Queue { jobs, json } => {
            test::build()?;
            play(&Suite::with(QUEUE)?, QUEUE, (JOBS, &jobs.to_string()), *json, killed_words)
        }
        Name::Outbox { seed, transactions, on, release, json } => {
            if *release {
                shell::run(&mut cargo(&["build", "--package", "evenkeel-testkit"]))?;
            } else {
                test::build()?;
            }
            for database in ["mariadb", "postgres"].into_iter().filter(|name| on.as_ref().is_none_or(|on| on == name)) {
                println!("== {database}");
                let scale = format!("{seed} {transactions}");
                let test = OUTBOX.replace("{}", database);
                let suite = if *release { Suite::optimized(&test) } else { Suite::with(&test) }?;
                play(&suite, &test, (TRANSACTIONS, &scale), *json, outbox_words)?;
            }
            Ok(())
        }
    }
}

/// The seeds that were asked for, as `A..B`.
fn range(seed: Option<u64>, seeds: Option<&str>) -> Result<String> {
    let seeds = match (seed, seeds) {
        (Some(seed), _) => format!("{seed}..{seed}"),
        (None, Some(seeds)) => seeds.to_owned(),
        (None, None) => bail!("name a seed, or many with --seeds A..B"),
    };
    let numbers = seeds.split_once("..").map(|(first, last)| (first.parse::<u64>(), last.parse::<u64>()));
    let Some((Ok(first), Ok(last))) = numbers else {
        bail!("`{seeds}` is no range of seeds; write A..B, such as 1..200")
    };
    if first > last {
        bail!("the range {seeds} is empty; the first seed must not be above the last");
    }
    Ok(seeds)
}

fn cache(seed: Option<u64>, seeds: Option<&str>, json: bool) -> Result<()> {
    let seeds = range(seed, seeds)?;
    test::build()?;
    play(&Suite::with(EVENTUAL)?, EVENTUAL, (SEEDS, &seeds), json, eventual_words)?;
    play(&Suite::with(CACHE)?, CACHE, (SEEDS, &seeds), json, words)
}

/// What the eventual reads of one seed, or of all, came to.
fn eventual_words(row: &Value) -> String {
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

/// What one history of locks, or all, came to.
fn lock_words(row: &Value) -> String {
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

/// Runs the test, and tells what it says while it says it.
fn play(
    suite: &Suite,
    test: &str,
    (variable, value): (&str, &str),
    json: bool,
    words: fn(&Value) -> String,
) -> Result<()> {
    let park = Park::start(&[])?;
    let mut command = suite.command(test);
    command.arg("--ignored").env(variable, value).envs(park.addresses()).stdout(Stdio::piped());
    let mut run = command.spawn().with_context(|| format!("`{}` could not be started", shell::line(&command)))?;
    let lines = BufReader::new(run.stdout.take().context("its output is piped")?).lines();
    for line in lines {
        let line = line?;
        // The harness says things of its own.
        let Ok(row) = serde_json::from_str::<Value>(&line) else { continue };
        println!("{}", if json { line } else { words(&row) });
    }
    let status = run.wait()?;
    if !status.success() {
        bail!("{variable}={value}: not all is as it was promised ({status})");
    }
    Ok(())
}

/// What the ledger shows, as a sentence.
fn killed_words(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    format!(
        "{} jobs, {} workers killed in {:.0} s: {} effects, {} jobs lost; {} effects were second ones, {} of them without a lapse in \
         the job's record, {} after a worker that lived; {} leases lapsed",
        number("jobs"),
        number("kills"),
        row["seconds"].as_f64().unwrap_or(0.0),
        number("effects"),
        number("lost"),
        number("twice"),
        number("twice_without_lapse"),
        number("twice_after_the_living"),
        number("lapses"),
    )
}

/// How far it is; at the end, what was compared.
fn outbox_words(row: &Value) -> String {
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
        "| what SQL says | compared | not so |".to_owned(),
        "|---|--:|--:|".to_owned(),
        format!("| works done | {} | {} |", number("committed"), number("works_not_done") + number("parked")),
        format!(
            "| cache entries ({} of {} accounts had one) | {} | {} |",
            number("entries_held"),
            number("accounts"),
            number("entries_held"),
            number("stale")
        ),
        format!("| jobs that wait | {} | {} |", number("jobs"), number("jobs_wrong")),
        format!(
            "| jobs that do not ({} revoked) | {} | {} |",
            number("revoked"),
            number("revoked"),
            number("jobs_strange")
        ),
        format!(
            "| ordered messages, by key | {} | {} of {} keys |",
            number("ordered"),
            number("lanes_wrong"),
            number("lanes")
        ),
        format!("| unordered messages | {} | {} |", number("loose"), number("loose_lost") + number("loose_strange")),
        String::new(),
        format!(
            "unordered messages that came again: {}; {} after the death of who sent the one before, {} around an outage, {} because the \
             sender was slow, {} without a reason. Ordered messages that came again: {}",
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

/// A row as a sentence.
fn words(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().unwrap_or(0);
    if row.get("histories").is_some() {
        return format!(
            "{} histories: {} linearizable, {} violations, {} apart (a commit came after its window had lapsed), {} of those with \
             {} stale reads, the stalest by {:.0} ms; {} fresh reads ({} from the store), {} failed; {} writes acknowledged, {} \
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
