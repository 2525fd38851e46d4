//! The command line. What is not given here may come from the environment (clap reads it) or the file.

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// What `--help` says below the flags.
const SETTINGS: &str = "\
Every setting can also come from the environment (STOCKROOM_DATA, STOCKROOM_PUBLIC_URL, ..) or from the file (data = \"..\",
public_url = \"..\"): a flag beats the environment, which beats the file.

Strategies: optimistic, pessimistic, redis-lock, striped, redlock, conditional-update, segmented. A request may name another one
(?strategy=..). All keep the rule, also side by side.";

/// What `load --help` says below the flags.
const LOADING: &str = "\
Without --redis and --database everything is in this process: a SQLite file in a temporary folder and embedded stores, with
changes that are cancelled and holders that stand still for longer than their lease. With both, workers are processes of their
own, which are paused and killed.

Exit code: 0 if no strategy broke the rule or lost a change (the unfenced demonstration is expected to), 1 if one did, 2 if it
could not run.";

/// Goods in, goods out, and one rule that must hold: runs with nothing installed, and on Redis and a SQL server when told to
#[derive(Debug, Parser)]
#[command(name = "stockroom", version, after_help = SETTINGS, term_width = 120)]
pub struct Flags {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) serving: Serving,
    #[command(flatten)]
    pub(crate) stocking: Stocking,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Where stock and locks are kept: common to all commands.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Place {
    /// Folder for what is kept on this machine [default: stockroom-data]
    #[arg(long, global = true, value_name = "DIR", hide_env = true, env = "STOCKROOM_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Database: mysql://.., postgres://.. or sqlite:FILE [default: a SQLite file in the data folder]
    #[arg(long, global = true, value_name = "URL", hide_env = true, env = "STOCKROOM_DATABASE")]
    pub(crate) database: Option<String>,
    /// Redis for locks: redis://.. or rediss://.. [default: locks inside the process]
    #[arg(long, global = true, value_name = "URL", hide_env = true, env = "STOCKROOM_REDIS")]
    pub(crate) redis: Option<String>,
    /// Independent Redis servers for `redlock`, three or more, separated by commas [default: five stores inside the process
    /// where there is no Redis, else none]
    #[arg(long, global = true, value_name = "URLS", hide_env = true, env = "STOCKROOM_REDLOCK", value_delimiter = ',')]
    pub(crate) redlock: Vec<String>,
    /// TOML file with settings
    #[arg(long, global = true, value_name = "FILE", hide_env = true, env = "STOCKROOM_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

/// How the service is reached.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Serving {
    /// Address to listen on; port 0 takes a free one [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDR", hide_env = true, env = "STOCKROOM_LISTEN")]
    pub(crate) listen: Option<String>,
    /// Address people know the service by, as https://stock.example.com
    #[arg(long, value_name = "URL", hide_env = true, env = "STOCKROOM_PUBLIC_URL")]
    pub(crate) public_url: Option<String>,
}

/// How stock is kept.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Stocking {
    /// Time zone whose days arrivals are counted by, as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", hide_env = true, env = "STOCKROOM_TIME_ZONE")]
    pub(crate) time_zone: Option<String>,
    /// The most there may be of a product [default: 1000]
    #[arg(long, value_name = "NUMBER", hide_env = true, env = "STOCKROOM_CAP")]
    pub(crate) cap: Option<i64>,
    /// Segments that a stock is split over under `segmented` [default: 8]
    #[arg(long, value_name = "NUMBER", hide_env = true, env = "STOCKROOM_SEGMENTS")]
    pub(crate) segments: Option<u32>,
    /// Locks that all products share under `striped` [default: 16]
    #[arg(long, value_name = "NUMBER", hide_env = true, env = "STOCKROOM_STRIPES")]
    pub(crate) stripes: Option<u32>,
    /// How stock is changed where a request does not say [default: conditional-update]
    #[arg(long, value_name = "NAME", hide_env = true, env = "STOCKROOM_STRATEGY")]
    pub(crate) strategy: Option<String>,
    /// Lets requests choose `unfenced`, a demonstration that loses changes
    #[arg(long, hide_env = true, env = "STOCKROOM_ALLOW_UNFENCED")]
    pub(crate) allow_unfenced: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve (what happens without a command)
    Serve {
        #[command(flatten)]
        serving: Serving,
        #[command(flatten)]
        stocking: Stocking,
    },
    /// Change stock from many sides at once by every strategy, with faults, and audit what became of it
    #[command(after_help = LOADING)]
    Load(Load),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Load {
    /// Arrivals, orders and releases by each strategy
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    pub(crate) operations: u64,
    /// How many of them are under way at once
    #[arg(long, value_name = "NUMBER", default_value_t = 200)]
    pub(crate) in_flight: u64,
    /// Products they are about
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(crate) products: u64,
    /// The most there may be of a product
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
    pub(crate) cap: i64,
    /// Processes, where there are servers to share
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(crate) workers: u64,
    /// Only this strategy; may be given several times [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) strategy: Vec<String>,
    /// Seed of what is chosen at random
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Report as JSON lines on standard output, one for each strategy
    #[arg(long)]
    pub(crate) json: bool,
    /// What this process does for another one that runs a load
    #[arg(long, hide = true)]
    pub(crate) part: Option<String>,
}
