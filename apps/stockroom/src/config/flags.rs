//! The command line. clap also reads the environment variables.

use clap::builder::BoolishValueParser;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// The end of `--help`.
const SETTINGS: &str = "\
Every setting can also be an environment variable (STOCKROOM_DATA, STOCKROOM_PUBLIC_URL, ..) or a key in the settings file
(data = \"..\", public_url = \"..\"). Flags take precedence over the environment, which takes precedence over the file.

Strategies: optimistic, pessimistic, redis-lock, striped, redlock, conditional-update, segmented. A request can choose one with
?strategy=..; requests may use different strategies at the same time.";

/// The end of `load --help`.
const LOADING: &str = "\
Without --redis and --database, the load runs in this process, on a temporary SQLite file and embedded stores: it cancels changes
and pauses lock holders for longer than their lease. With both, it starts worker processes, which it pauses and kills.

Exit code: 0 if every strategy kept the rule and lost no change (the unfenced demonstration does not count), 1 if one did not,
2 if the load could not run.";

/// Receives goods and reserves them for orders; a product's stock never exceeds its limit, under any locking strategy
#[derive(Debug, Parser)]
#[command(name = "stockroom", version, after_help = SETTINGS, term_width = 120)]
pub struct Flags {
    #[command(flatten)]
    pub(crate) servers: ServerFlags,
    #[command(flatten)]
    pub(crate) http: HttpFlags,
    #[command(flatten)]
    pub(crate) stock: StockFlags,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Databases and locks, common to all commands.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServerFlags {
    /// Folder for local files [default: stockroom-data]
    #[arg(long, global = true, value_name = "DIR", hide_env = true, env = "STOCKROOM_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Database: mysql://.., postgres://.. or sqlite:FILE [default: a SQLite file in the data folder]
    #[arg(long, global = true, value_name = "URL", hide_env = true, env = "STOCKROOM_DATABASE")]
    pub(crate) database: Option<String>,
    /// Redis for locks: redis://.. or rediss://.. [default: locks in this process]
    #[arg(long, global = true, value_name = "URL", hide_env = true, env = "STOCKROOM_REDIS")]
    pub(crate) redis: Option<String>,
    /// Independent Redis servers for `redlock`: three or more, separated by commas [default: without Redis, five stores in this
    /// process]
    #[arg(long, global = true, value_name = "URLS", hide_env = true, env = "STOCKROOM_REDLOCK", value_delimiter = ',')]
    pub(crate) redlock: Vec<String>,
    /// Settings file (TOML)
    #[arg(long, global = true, value_name = "FILE", hide_env = true, env = "STOCKROOM_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

/// The addresses of the service.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HttpFlags {
    /// Address to listen on; port 0 selects a free port [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDR", hide_env = true, env = "STOCKROOM_LISTEN")]
    pub(crate) listen: Option<String>,
    /// Public URL of the service, such as https://stock.example.com
    #[arg(long, value_name = "URL", hide_env = true, env = "STOCKROOM_PUBLIC_URL")]
    pub(crate) public_url: Option<String>,
    /// Export spans to this OpenTelemetry collector, such as http://127.0.0.1:4318 (needs a build with --features otel)
    #[arg(long, value_name = "URL", hide_env = true, env = "STOCKROOM_OTLP")]
    pub(crate) otlp: Option<String>,
}

/// The rules of the stock.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StockFlags {
    /// Time zone of the days of arrivals, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", hide_env = true, env = "STOCKROOM_TIME_ZONE")]
    pub(crate) time_zone: Option<String>,
    /// Limit of the stock of each product [default: 1000]
    #[arg(long, value_name = "NUMBER", hide_env = true, env = "STOCKROOM_CAP")]
    pub(crate) cap: Option<i64>,
    /// Number of segments per stock in the strategy `segmented` [default: 8]
    #[arg(long, value_name = "NUMBER", hide_env = true, env = "STOCKROOM_SEGMENTS")]
    pub(crate) segments: Option<u32>,
    /// Number of locks that all products share in the strategy `striped` [default: 16]
    #[arg(long, value_name = "NUMBER", hide_env = true, env = "STOCKROOM_STRIPES")]
    pub(crate) stripes: Option<u32>,
    /// Locking strategy of requests that do not choose one [default: conditional-update]
    #[arg(long, value_name = "NAME", hide_env = true, env = "STOCKROOM_STRATEGY")]
    pub(crate) strategy: Option<String>,
    /// Allow requests to choose `unfenced`, a demonstration that loses changes
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
        hide_env = true,
        hide_possible_values = true,
        env = "STOCKROOM_ALLOW_UNFENCED"
    )]
    pub(crate) allow_unfenced: Option<bool>,
    /// Seconds in which an order must be paid before it expires and its goods return [default: 1800]
    #[arg(long, value_name = "SECONDS", hide_env = true, env = "STOCKROOM_PAY_WITHIN")]
    pub(crate) pay_within: Option<u32>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the service (the default command)
    Serve {
        #[command(flatten)]
        http: HttpFlags,
        #[command(flatten)]
        stock: StockFlags,
    },
    /// Change stock concurrently by every strategy while injecting faults, and audit the result
    #[command(after_help = LOADING)]
    Load(LoadFlags),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct LoadFlags {
    /// Number of arrivals, orders and releases per strategy
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    pub(crate) operations: u64,
    /// Number of concurrent operations
    #[arg(long, value_name = "NUMBER", default_value_t = 200)]
    pub(crate) in_flight: u64,
    /// Number of products
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(crate) products: u64,
    /// Limit of the stock of each product
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
    pub(crate) cap: i64,
    /// Number of worker processes, with --redis and --database
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(crate) workers: u64,
    /// Run only this strategy; can be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) strategy: Vec<String>,
    /// Seed of the random operations
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print one JSON object per strategy
    #[arg(long)]
    pub(crate) json: bool,
    /// The share of a worker process.
    #[arg(long, hide = true)]
    pub(crate) part: Option<String>,
}
