//! `evenkeel top`: live tables of a Redis and a database, one per tab.
//!
//! `view.rs` refreshes the screen and acts on keys, `source.rs` reads the table of a tab, `look.rs` sorts, filters and scrolls its rows, `screen.rs` fits
//! it to the size of the terminal, `keys.rs` reads keys, and `terminal.rs` sets the terminal up and restores it. `evenkeel queue top` is the same with one tab.

mod keys;
mod look;
mod screen;
mod source;
mod tab;
mod terminal;
mod view;

pub(crate) use source::Source;
pub(crate) use tab::Tab;
pub(crate) use view::show;

use crate::connect::{database_address, exit_code, on_servers};
use crate::output::Output;
use crate::time;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Redis: redis://, rediss:// or unix://, with ?prefix= if the service sets a prefix
    #[arg(long, env = "EVENKEEL_REDIS", value_name = "URL", hide_env_values = true)]
    redis: Option<String>,
    /// Database of the outbox and of queues with Durability::Sql: mysql://, postgres:// or sqlite:
    #[arg(long, env = "EVENKEEL_DATABASE", value_name = "URL", hide_env_values = true)]
    database: Option<String>,
    /// Print the tab once, as JSON
    #[arg(long)]
    json: bool,
    /// First tab; the one that is printed if the output is not a terminal
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Tab::Topics)]
    tab: Tab,
    /// Refresh interval, for example 1s or 500ms; at least 100ms
    #[arg(long, value_name = "SPAN", value_parser = time::read_span, default_value = "1s")]
    every: u64,
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    let Arguments { redis, database, json, tab, every } = arguments;
    let (redis, database, output) = (redis.as_deref(), database.as_deref(), Output::new(json));
    if tab == Tab::Outbox
        && let Err(error) = database_address(database)
    {
        return exit_code(Err(error), &[]);
    }
    let tabs = Tab::all(database.is_some());
    on_servers(redis, database, async |servers| show(&mut Source::new(servers, &[]), tabs, tab, every, output).await)
        .await
}
