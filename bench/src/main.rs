//! `cargo xtask bench NAME`: comparisons with raw commands and with peers, on this machine, in one run.
//!
//! Ours and the peer alternate inside the run on the same servers, so that whatever else the machine does hits both; what is
//! reported is the median of the per-round ratios, and their spread.

mod cache;
mod client;
mod console;
mod generator;
mod id;
mod info;
mod limit;
mod load;
mod lock;
mod outbox;
mod peer;
mod pin;
mod program;
mod python;
mod queue;
mod results;
mod rounds;
mod row;
mod shortlink;
mod stream;

use anyhow::Result;
use clap::{Parser, Subcommand};
use results::Keeper;
use rounds::Plan;

/// Compare Evenkeel with raw commands and with peers.
#[derive(Parser)]
#[command(name = "bench", bin_name = "cargo xtask bench", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
    /// Run short rounds, in under five minutes, without updating bench/RESULTS.md
    #[arg(long, global = true)]
    quick: bool,
    /// Run only this part, without updating bench/RESULTS.md (cache: near, reads, misses, invalidations, batches, peers, flood, recovery;
    /// queue: memory, sends, work, late, flood; shortlink: tiers, clicks; console: pages, polling; stream: rates, late, takeover, peers;
    /// id: snowflake, segments)
    #[arg(long, global = true, value_name = "PART")]
    only: Option<String>,
    /// Print one JSON object per row as it is measured
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Bench {
    /// The cache, compared with plain Redis commands through the same client
    Cache,
    /// The delay queue: memory per waiting job, and throughput
    Queue,
    /// The unit of work: commits with one effect compared with bare transactions, delay of the effect, catching up after an outage
    Outbox,
    /// Locks: uncontended, handed over to waiters, and renewed, compared with other Redis locks
    Lock,
    /// Shortlink: redirects by tier, creations, imports, compared with a constant redirect of the same HTTP server
    Shortlink,
    /// Streams: entries appended and handled, compared with plain Redis commands and other consumers; latency; take-over of a killed consumer
    Stream,
    /// Ids: snowflake compared with its arithmetic limit and ferroid, sequences with INCR, both with an atomic increment
    Id,
    /// Limits: checks, and Redis's time for one, compared with INCR and EXPIRE
    Limit,
    /// The console: time of each page with a million jobs; what open browsers cost Redis
    Console,
    /// The load generator, as a process of its own
    #[command(hide = true)]
    Generate,
    /// The constant redirect, as a process of its own
    #[command(hide = true)]
    Constant,
    /// The consumer of a stream, as a process of its own
    #[command(hide = true)]
    Consume,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let keeps = !arguments.quick && arguments.only.is_none();
    let plan = Plan { only: arguments.only, ..if arguments.quick { Plan::quick() } else { Plan::full() } };
    let keeper = |name| Keeper::new(name, arguments.json, keeps);
    match arguments.bench {
        Bench::Cache => cache::run(&plan, &mut keeper("cache")),
        Bench::Queue => queue::run(&plan, &mut keeper("queue")),
        Bench::Outbox => outbox::run(&plan, &mut keeper("outbox")),
        Bench::Lock => lock::run(&plan, &mut keeper("lock")),
        Bench::Shortlink => shortlink::run(&plan, &mut keeper("shortlink")),
        Bench::Stream => stream::run(&plan, &mut keeper("stream")),
        Bench::Id => id::run(&plan, &mut keeper("id")),
        Bench::Limit => limit::run(&plan, &mut keeper("limit")),
        Bench::Console => console::run(&plan, &mut keeper("console")),
        Bench::Generate => generator::main(),
        Bench::Constant => shortlink::constant::main(),
        Bench::Consume => stream::consumer::main(),
    }
}
