//! The command line and the environment variables, which clap reads.

use super::modes::{CacheMode, ClickMode, WriteMode};
use crate::transfer::Format;
use clap::builder::BoolishValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Shown by `--help` below the options.
const SETTINGS_HELP: &str = "\
Each option can also be set in the environment (SHORTLINK_DATA, SHORTLINK_PUBLIC_URL, ..) or in the settings file (data = \"..\",
public_url = \"..\"). Options override the environment, which overrides the file.";

/// Shown by `import --help` below the options.
const IMPORT_HELP: &str = "\
The header line names the columns: target, code, alias, expires_at, created_at, updated_at, version, banned, clicks. Other columns
are ignored, with a note; if one of them looks like the codes of the links, and none is named code or alias, nothing is imported until
an option says what it is. Lines that begin with # are skipped. A row is skipped if its code exists or, without a code, its target.
Targets must keep the rules of the service (--public-url, --refuse-private).
Invalid lines are reported by number and copied to FILE.rejected. An interrupted import resumes after its last committed batch.

Exit code: 0 if every row is in the database now, 1 if lines were rejected, 2 if the import stopped.";

/// A short-link service. Runs on its own, or with Redis and a SQL database shared by several instances
#[derive(Debug, Parser)]
#[command(name = "shortlink", version, after_help = SETTINGS_HELP, term_width = 120)]
pub struct Flags {
    #[command(flatten)]
    pub(crate) common: CommonFlags,
    #[command(flatten)]
    pub(crate) serve: ServeFlags,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Where links are stored, and which targets they may have: the options of every command.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CommonFlags {
    /// Folder for the files of this instance [default: shortlink-data]
    #[arg(long, global = true, value_name = "DIR", hide_env = true, env = "SHORTLINK_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Database URL: mysql://.., postgres://.. or sqlite:FILE [default: a SQLite file in the data folder]
    #[arg(long, global = true, value_name = "URL", hide_env = true, env = "SHORTLINK_DATABASE")]
    pub(crate) database: Option<String>,
    /// URL of the Redis cache: redis://.. or rediss://.. [default: a cache inside the process]
    #[arg(long, global = true, value_name = "URL", hide_env = true, env = "SHORTLINK_REDIS")]
    pub(crate) redis: Option<String>,
    /// While Redis is unreachable, eventual accepts writes and strong refuses them, so that no redirect is outdated [default: eventual]
    #[arg(
        long,
        global = true,
        value_name = "MODE",
        hide_env = true,
        hide_possible_values = true,
        env = "SHORTLINK_CONSISTENCY"
    )]
    pub(crate) consistency: Option<CacheMode>,
    /// Public URL of the service, such as https://s.example.com; links to it are refused as loops
    #[arg(long, global = true, value_name = "URL", hide_env = true, env = "SHORTLINK_PUBLIC_URL")]
    pub(crate) public_url: Option<String>,
    /// Refuse targets in private networks (localhost, 10.0.0.0/8, ..)
    #[arg(
        long,
        global = true,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
        hide_env = true,
        hide_possible_values = true,
        env = "SHORTLINK_REFUSE_PRIVATE"
    )]
    pub(crate) refuse_private: Option<bool>,
    /// TOML settings file
    #[arg(long, global = true, value_name = "FILE", hide_env = true, env = "SHORTLINK_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

/// The options of `serve`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServeFlags {
    /// Address and port to listen on; port 0 picks a free port [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR", hide_env = true, env = "SHORTLINK_LISTEN")]
    pub(crate) listen: Option<String>,
    /// Export spans to this OpenTelemetry collector, such as http://127.0.0.1:4318 (needs a build with --features otel)
    #[arg(long, value_name = "URL", hide_env = true, env = "SHORTLINK_OTLP")]
    pub(crate) otlp: Option<String>,
    /// Capacity of the in-process cache in front of Redis, in links; 0 disables it [default: 100000, at most 64 MiB]
    #[arg(long, value_name = "LINKS", hide_env = true, env = "SHORTLINK_NEAR")]
    pub(crate) near: Option<usize>,
    /// When to acknowledge a write: through, after the database commit; behind, once it is on the local disk [default: through]
    #[arg(long, value_name = "MODE", hide_env = true, hide_possible_values = true, env = "SHORTLINK_WRITE_MODE")]
    pub(crate) write_mode: Option<WriteMode>,
    /// Capacity of the write-behind spool, in bytes (--write-mode behind) [default: 67108864]
    #[arg(long, value_name = "BYTES", hide_env = true, env = "SHORTLINK_SPOOL_BYTES_MAX")]
    pub(crate) spool_bytes_max: Option<u64>,
    /// Whether to count clicks by link and day: on or off [default: on]
    #[arg(long, value_name = "MODE", hide_env = true, hide_possible_values = true, env = "SHORTLINK_CLICKS")]
    pub(crate) clicks: Option<ClickMode>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the service (the default)
    Serve(ServeFlags),
    /// Import links from a TSV, CSV or JSON Lines file
    #[command(after_help = IMPORT_HELP)]
    Import(ImportFlags),
    /// Export all links to a TSV, CSV or JSON Lines file
    Export(ExportFlags),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ImportFlags {
    /// File ending in .tsv, .csv, .jsonl or .ndjson
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Comma-separated column names, for a file without a header line; an empty name skips its column
    #[arg(long, value_name = "NAMES")]
    pub(crate) columns: Option<String>,
    /// Column with the codes, or with the URLs of the short links, if its name is neither code nor alias
    #[arg(long, value_name = "NAME")]
    pub(crate) code_column: Option<String>,
    /// Import under new codes, although a column looks like codes
    #[arg(long, conflicts_with = "code_column")]
    pub(crate) new_codes: bool,
    /// File format, if the file has another extension
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FormatFlag>,
    /// Import into the running service at this URL, such as http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// PEM file of the certificate authorities to trust for https:// [default: the public ones]
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) ca: Option<PathBuf>,
    /// Report progress as JSON Lines on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ExportFlags {
    /// File ending in .tsv, .csv, .jsonl or .ndjson, or - for standard output
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// File format, if the file has another extension
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FormatFlag>,
    /// Export from the running service at this URL, such as http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// PEM file of the certificate authorities to trust for https:// [default: the public ones]
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) ca: Option<PathBuf>,
}

/// The file formats, as `--format` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatFlag {
    Tsv,
    Csv,
    Jsonl,
}

impl From<FormatFlag> for Format {
    fn from(flag: FormatFlag) -> Self {
        match flag {
            FormatFlag::Tsv => Self::Tsv,
            FormatFlag::Csv => Self::Csv,
            FormatFlag::Jsonl => Self::JsonLines,
        }
    }
}
