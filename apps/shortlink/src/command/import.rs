//! `shortlink import`.

use super::open::{check_redis, connect, open};
use crate::config::{CommonFlags, Config, ImportFlags, ServeFlags};
use crate::transfer::{CodeSource, Counts, Format, ImportDestination, ImportSource, Remote, Report, import};
use anyhow::Result;
use evenkeel::clock::Clock;
use web::FileLock;

/// Imports a file into the configured database or into a running service. Returns the counts of its rows.
///
/// # Errors
/// The file cannot be read, or the destination cannot be opened or fails.
pub(super) async fn run(flags: ImportFlags, common: &CommonFlags, serve: &ServeFlags) -> Result<Counts> {
    let format = flags.format.map_or_else(|| Format::of(&flags.file), |format| Ok(format.into()))?;
    let columns = flags.columns.map(|names| names.split(',').map(str::to_owned).collect());
    let codes = match flags.code_column {
        Some(name) => CodeSource::Column(name),
        None if flags.new_codes => CodeSource::NamedOrNew,
        None => CodeSource::Named,
    };
    let source = ImportSource { file: flags.file, format, columns, codes };
    let mut report = if flags.json { Report::JsonLines } else { Report::text() };
    if let Some(address) = flags.server {
        let remote = Remote::new(&address, flags.ca.as_deref(), Clock::system())?;
        return import(&source, &mut ImportDestination::Server(Box::new(remote)), &mut report).await;
    }
    let config = Config::resolve(common, serve)?;
    let file = source.file.display();
    let instead = |address: &str| format!("shortlink import {file} --server {address} imports into it while it runs");
    let _hold = FileLock::acquire(&config.database, &config.data, "shortlink", "import into it", instead)?;
    check_redis(&config).await?;
    let opened = open(&config, connect(&config).await?, None).await?;
    let mut destination = ImportDestination::Service(opened.service.clone());
    let result = import(&source, &mut destination, &mut report).await;
    opened.close().await;
    result
}
