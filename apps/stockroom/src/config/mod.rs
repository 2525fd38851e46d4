//! Flags, environment and file become one checked [`Config`]: a flag beats the environment, which beats the file.

mod file;
mod flags;

pub use flags::Flags;
pub(crate) use flags::{Command, Load, Place, Serving, Stocking};

use crate::domain::{Days, Strategy};
use anyhow::{Context, Result, bail};
use file::File;
use std::path::PathBuf;
use web::DatabaseUrl;

/// Where the service listens if nobody says otherwise.
const LISTEN: &str = "127.0.0.1:8081";

/// The folder used if nobody says otherwise: in the current one, where the person who started it sees it.
const DATA: &str = "stockroom-data";

/// The database in the data folder.
const DATABASE_FILE: &str = "stock.db";

/// The most there may be of a product, if nobody says otherwise.
const CAP: i64 = 1_000;

/// No cap is higher: sums of a million products stay far from the end of numbers.
const CAP_MAX: i64 = 1_000_000_000;

/// Over how many segments a stock is split, if nobody says otherwise.
const SEGMENTS: u32 = 8;

/// More rows of one product than any database has cores to change them.
const SEGMENTS_MAX: u32 = 64;

/// How many locks products share under `striped`, if nobody says otherwise.
const STRIPES: u32 = 16;

/// The most that a striped lock takes.
const STRIPES_MAX: u32 = 4_096;

/// The day's time zone if nobody says otherwise.
const TIME_ZONE: &str = "UTC";

/// How the program shall run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen, `HOST:PORT`; port 0 takes a free one.
    pub listen: String,
    /// The folder for what is kept on this machine.
    pub data: PathBuf,
    /// Where the stock is; a file in the data folder by default.
    pub database: DatabaseUrl,
    /// The Redis for locks; `None`: inside the process.
    pub redis: Option<String>,
    /// Independent Redis servers for `redlock`; none: inside the process where there is no Redis either.
    pub redlock: Vec<String>,
    /// The address people know the service by, as `https://stock.example.com`.
    pub public_url: Option<String>,
    /// Which day a moment belongs to.
    pub days: Days,
    /// The most there may be of a product.
    pub cap: i64,
    /// Over how many segments a stock is split.
    pub segments: u32,
    /// How many locks products share under `striped`.
    pub stripes: u32,
    /// The strategy of requests that name none.
    pub strategy: Strategy,
    /// Whether requests may ask for the demonstration of what goes wrong.
    pub allow_unfenced: bool,
}

impl Config {
    /// Puts flags (with the environment already in them) and file together.
    ///
    /// # Errors
    /// One sentence: which setting is wrong, and why.
    pub(crate) fn resolve(place: &Place, serving: &Serving, stocking: &Stocking) -> Result<Self> {
        let file = place.config.as_deref().map(web::settings::read::<File>).transpose()?.unwrap_or_default();
        let data = place.data.clone().or(file.data).unwrap_or_else(|| DATA.into());
        let database = match place.database.clone().or(file.database) {
            Some(url) => url.parse().context("the setting \"database\" is wrong")?,
            None => DatabaseUrl::Sqlite(data.join(DATABASE_FILE)),
        };
        let public_url = serving.public_url.clone().or(file.public_url);
        if let Some(url) = &public_url {
            web::settings::check_public_url(url)?;
        }
        let zone = stocking.time_zone.clone().or(file.time_zone).unwrap_or_else(|| TIME_ZONE.to_owned());
        let Some(days) = Days::of_zone(&zone) else {
            bail!("the setting \"time_zone\" is wrong: {zone:?} is no time zone like Europe/Berlin");
        };
        let cap = stocking.cap.or(file.cap).unwrap_or(CAP);
        if !(1..=CAP_MAX).contains(&cap) {
            bail!("the setting \"cap\" is wrong: {cap} is not between 1 and {CAP_MAX}");
        }
        let segments = stocking.segments.or(file.segments).unwrap_or(SEGMENTS);
        if !(1..=SEGMENTS_MAX).contains(&segments) {
            bail!("the setting \"segments\" is wrong: {segments} is not between 1 and {SEGMENTS_MAX}");
        }
        let stripes = stocking.stripes.or(file.stripes).unwrap_or(STRIPES);
        if !(1..=STRIPES_MAX).contains(&stripes) {
            bail!("the setting \"stripes\" is wrong: {stripes} is not between 1 and {STRIPES_MAX}");
        }
        let named = stocking.strategy.clone().or(file.strategy);
        let named = named.map(|name| name.parse()).transpose().context("the setting \"strategy\" is wrong")?;
        let strategy = named.unwrap_or(Strategy::ConditionalUpdate);
        let allow_unfenced = stocking.allow_unfenced || file.allow_unfenced.unwrap_or(false);
        if !strategy.is_safe() {
            bail!(
                "the setting \"strategy\" is wrong: {strategy} loses changes; requests may name it with --allow-unfenced"
            );
        }
        Ok(Self {
            listen: serving.listen.clone().or(file.listen).unwrap_or_else(|| LISTEN.to_owned()),
            data,
            database,
            redis: place.redis.clone().or(file.redis),
            redlock: if place.redlock.is_empty() { file.redlock.unwrap_or_default() } else { place.redlock.clone() },
            public_url,
            days,
            cap,
            segments,
            stripes,
            strategy,
            allow_unfenced,
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests;
