//! `shortlink export`.

use crate::config::{CommonFlags, Config, ExportFlags, ServeFlags};
use crate::store::{DatabaseUrl, Store};
use crate::transfer::{ExportSource, Format, Remote, export, links};
use anyhow::{Context, Result, bail};
use evenkeel::clock::Clock;
use std::path::Path;

/// Exports the links of the configured database or of a running service.
///
/// # Errors
/// The source cannot be read or the file cannot be written.
pub(super) async fn run(flags: ExportFlags, common: &CommonFlags, serve: &ServeFlags) -> Result<()> {
    let to_output = flags.file == Path::new("-");
    let format = match flags.format {
        Some(format) => format.into(),
        None if to_output => Format::Tsv,
        None => Format::of(&flags.file)?,
    };
    let (origin, store) = match flags.server {
        Some(address) => {
            let remote = Remote::new(&address, flags.ca.as_deref(), Clock::system())?;
            (ExportSource::Server(Box::new(remote)), None)
        }
        None => {
            let store = open(&Config::resolve(common, serve)?).await?;
            (ExportSource::Store(store.clone()), Some(store))
        }
    };
    let count = export(origin, &flags.file, format).await?;
    if let Some(store) = store {
        store.close().await;
    }
    if !to_output {
        println!("{} written to {}", links(count), flags.file.display());
    }
    Ok(())
}

/// Opens the database for reading. A service may be using it, so the schema is not upgraded.
async fn open(config: &Config) -> Result<Store> {
    if let DatabaseUrl::Sqlite(file) = &config.database
        && !file.exists()
    {
        bail!("the database {} does not exist", config.database);
    }
    let opened = Store::open_as_is(&config.database, Clock::system()).await;
    opened.with_context(|| format!("cannot read the database {}", config.database))
}
