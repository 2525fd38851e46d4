//! `shortlink import`.

use super::open::{check_redis, connect, open};
use crate::config::{Config, Import, Place, Serving};
use crate::transfer::{Counts, Destination, Format, ImportSource, Remote, Report, import};
use anyhow::Result;
use evenkeel::clock::Clock;
use web::FileLock;

/// Imports a file into the configured database, or into a running service, and answers what became of its rows.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn run(flags: Import, place: &Place) -> Result<Counts> {
    let format = flags.format.map_or_else(|| Format::of(&flags.file), |format| Ok(format.into()))?;
    let columns = flags.columns.map(|names| names.split(',').map(str::to_owned).collect());
    let source = ImportSource { file: flags.file, format, columns };
    let mut report = if flags.json { Report::Program } else { Report::person() };
    if let Some(address) = flags.server {
        let remote = Remote::new(&address, flags.ca.as_deref(), Clock::system())?;
        return import(&source, &mut Destination::Server(Box::new(remote)), &mut report).await;
    }
    let config = Config::resolve(place, &Serving::default())?;
    let file = source.file.display();
    let instead = |address: &str| format!("shortlink import {file} --server {address} imports into it while it runs");
    let _hold = FileLock::acquire(&config.database, &config.data, "shortlink", "import into it", instead)?;
    check_redis(&config).await?;
    let opened = open(&config, connect(&config).await?, None).await?;
    let mut destination = Destination::Service(opened.service.clone());
    let result = import(&source, &mut destination, &mut report).await;
    opened.close().await;
    result
}
