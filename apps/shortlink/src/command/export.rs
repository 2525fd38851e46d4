//! `shortlink export`.

use crate::config::{Config, Export, Place, Serving};
use crate::store::{DatabaseUrl, Store};
use crate::transfer::{Format, Origin, Remote, export, links};
use anyhow::{Context, Result, bail};
use evenkeel::clock::Clock;
use std::path::Path;

/// Exports the configured database, or what a running service has.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn run(flags: Export, place: &Place) -> Result<()> {
    let to_output = flags.file == Path::new("-");
    let format = match flags.format {
        Some(format) => format.into(),
        None if to_output => Format::Tsv,
        None => Format::of(&flags.file)?,
    };
    let (origin, store) = match flags.server {
        Some(address) => {
            let remote = Remote::new(&address, flags.ca.as_deref(), Clock::system())?;
            (Origin::Server(Box::new(remote)), None)
        }
        None => {
            let store = open(&Config::resolve(place, &Serving::default())?).await?;
            (Origin::Store(store.clone()), Some(store))
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

/// Opens the database to read from it, beside whoever uses it. Its schema is their affair, so it stays as it is.
async fn open(config: &Config) -> Result<Store> {
    if let DatabaseUrl::Sqlite(file) = &config.database
        && !file.exists()
    {
        bail!("there is no database {}", config.database);
    }
    let opened = Store::open_as_is(&config.database, Clock::system()).await;
    opened.with_context(|| format!("cannot read the database {}", config.database))
}
