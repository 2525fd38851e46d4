//! The command line. What is not given here may come from the environment (clap reads it) or the file.

use super::modes::{CacheMode, WriteMode};
use crate::transfer::Format;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What `--help` says below the flags.
const SETTINGS: &str = "\
Every setting can also come from the environment (SHORTLINK_DATA, SHORTLINK_PUBLIC_URL, ..) or from the file (data = \"..\",
public_url = \"..\"): a flag beats the environment, which beats the file.";

/// What `import --help` says below the flags.
const IMPORTING: &str = "\
The header line names the columns: target, code, alias, expires_at, created_at, updated_at, version, banned. Other columns are
left out, with a note. Lines that begin with # are skipped. A row that is there already (by its code, else by its target) is
not taken twice. Bad lines are reported by number and kept in FILE.rejected. An import that was stopped goes on where it was.

Exit code: 0 if every row is there now, 1 if lines were rejected and all others are there, 2 if it stopped.";

/// A short-link service that runs with nothing installed, and on Redis and a SQL server when told to
#[derive(Debug, Parser)]
#[command(name = "shortlink", version, after_help = SETTINGS, term_width = 120)]
pub struct Flags {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) serving: Serving,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Where links are kept: common to all commands.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Place {
    /// Folder for what is kept on this machine [default: shortlink-data]
    #[arg(long, global = true, value_name = "DIR", hide_env = true, env = "SHORTLINK_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Database: mysql://.., postgres://.. or sqlite:FILE [default: a SQLite file in the data folder]
    #[arg(long, global = true, value_name = "URL", hide_env = true, env = "SHORTLINK_DATABASE")]
    pub(crate) database: Option<String>,
    /// Redis to cache in: redis://.. or rediss://.. [default: a cache inside the process]
    #[arg(long, global = true, value_name = "URL", hide_env = true, env = "SHORTLINK_REDIS")]
    pub(crate) redis: Option<String>,
    /// eventual: writes go on while Redis is away; strong: nobody sees an older state, so they are refused [default: eventual]
    #[arg(
        long,
        global = true,
        value_name = "MODE",
        hide_env = true,
        hide_possible_values = true,
        env = "SHORTLINK_CONSISTENCY"
    )]
    pub(crate) consistency: Option<CacheMode>,
    /// TOML file with settings
    #[arg(long, global = true, value_name = "FILE", hide_env = true, env = "SHORTLINK_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

/// How the service is reached and what it takes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Serving {
    /// Address to listen on; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR", hide_env = true, env = "SHORTLINK_LISTEN")]
    pub(crate) listen: Option<String>,
    /// Address people know the service by, as https://s.example.com; links to it are refused as loops
    #[arg(long, value_name = "URL", hide_env = true, env = "SHORTLINK_PUBLIC_URL")]
    pub(crate) public_url: Option<String>,
    /// Refuse links into private networks (localhost, 10.0.0.0/8, ..)
    #[arg(long, hide_env = true, env = "SHORTLINK_REFUSE_PRIVATE")]
    pub(crate) refuse_private: bool,
    /// Links to keep at hand in this process, in front of Redis; 0: none [default: 100000, of at most 64 MiB]
    #[arg(long, value_name = "LINKS", hide_env = true, env = "SHORTLINK_NEAR")]
    pub(crate) near: Option<usize>,
    /// through: answer writes once the database has them; behind: once this machine's disk has them [default: through]
    #[arg(long, value_name = "MODE", hide_env = true, hide_possible_values = true, env = "SHORTLINK_WRITE_MODE")]
    pub(crate) write_mode: Option<WriteMode>,
    /// Bytes of writes that may wait for the database with --write-mode behind [default: 67108864]
    #[arg(long, value_name = "BYTES", hide_env = true, env = "SHORTLINK_SPOOL_BYTES_MAX")]
    pub(crate) spool_bytes_max: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve links (what happens without a command)
    Serve(Serving),
    /// Take links from a file of tab-separated values, CSV or JSON lines
    #[command(after_help = IMPORTING)]
    Import(Import),
    /// Write all links to a file of tab-separated values, CSV or JSON lines
    Export(Export),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Import {
    /// File ending in .tsv, .csv, .jsonl or .ndjson
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Names of the columns, separated by commas, for a file without a header line; leave a name empty to skip its column
    #[arg(long, value_name = "NAMES")]
    pub(crate) columns: Option<String>,
    /// What the file is, whatever its ending
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FormatFlag>,
    /// A running service to import into, as http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// PEM file with the authorities to trust for a https:// service [default: those of the web]
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) ca: Option<PathBuf>,
    /// Report progress as JSON lines on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Export {
    /// File ending in .tsv, .csv, .jsonl or .ndjson; - for standard output
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What to write, whatever the ending
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FormatFlag>,
    /// A running service to export from, as http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// PEM file with the authorities to trust for a https:// service [default: those of the web]
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) ca: Option<PathBuf>,
}

/// The formats by name.
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
