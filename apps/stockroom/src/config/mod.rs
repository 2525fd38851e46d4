//! [`Config`]: the validated settings. Flags take precedence over environment variables, which take precedence over the settings file.

mod file;
mod flags;

pub use flags::Flags;
pub(crate) use flags::{Command, HttpFlags, LoadFlags, ServerFlags, StockFlags};

use crate::domain::{Calendar, Strategy};
use anyhow::{Context, Result, bail};
use file::SettingsFile;
use std::path::PathBuf;
use std::time::Duration;
use web::{DatabaseUrl, grouped};

/// Default of `listen`.
const LISTEN: &str = "127.0.0.1:8081";

/// Default of `data`, relative to the current folder.
const DATA: &str = "stockroom-data";

/// The default database, in the data folder.
const DATABASE_FILE: &str = "stock.db";

/// Default of `cap`.
const CAP: i64 = 1_000;

/// Maximum of `cap`: the sum over a million products does not overflow.
const CAP_MAX: i64 = 1_000_000_000;

/// Default of `segments`.
const SEGMENTS: u32 = 8;

/// Maximum of `segments`: more than a database has cores is useless.
const SEGMENTS_MAX: u32 = 64;

/// Default of `stripes`.
const STRIPES: u32 = 16;

/// Maximum of `stripes`, given by the library.
const STRIPES_MAX: u32 = 4_096;

/// Default of `time_zone`.
const TIME_ZONE: &str = "UTC";

/// Default of `pay_within`, in seconds.
const PAY_WITHIN: u32 = 30 * 60;

/// Maximum of `pay_within`: thirty days.
const PAY_WITHIN_MAX: u32 = 30 * 24 * 3_600;

/// The validated settings.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address to listen on, `HOST:PORT`; port 0 selects a free port.
    pub listen: String,
    /// The folder for local files.
    pub data: PathBuf,
    /// The database.
    pub database: DatabaseUrl,
    /// The Redis for locks; `None`: locks in this process.
    pub redis: Option<String>,
    /// Independent Redis servers for `redlock`; empty: stores in this process, if there is no Redis.
    pub redlock: Vec<String>,
    /// The public URL, such as `https://stock.example.com`.
    pub public_url: Option<String>,
    /// The collector of spans, such as `http://127.0.0.1:4318`.
    pub otlp: Option<String>,
    /// The calendar of arrivals.
    pub calendar: Calendar,
    /// Limit of the stock of each product.
    pub cap: i64,
    /// Number of segments per stock in the strategy `segmented`.
    pub segments: u32,
    /// Number of locks that all products share in the strategy `striped`.
    pub stripes: u32,
    /// The strategy of requests that do not choose one.
    pub strategy: Strategy,
    /// Whether requests may choose [`Strategy::Unfenced`].
    pub allow_unfenced: bool,
    /// How long an order may be unpaid.
    pub pay_within: Duration,
}

impl Config {
    /// Merges the flags, which include the environment, with the settings file, and validates the result.
    ///
    /// # Errors
    /// A setting is invalid.
    pub(crate) fn resolve(servers: &ServerFlags, http: &HttpFlags, stock: &StockFlags) -> Result<Self> {
        let file = servers.config.as_deref().map(web::settings::read::<SettingsFile>).transpose()?.unwrap_or_default();
        let data = servers.data.clone().or(file.data).unwrap_or_else(|| DATA.into());
        let database = match servers.database.clone().or(file.database) {
            Some(url) => url.parse().context("the setting \"database\" is wrong")?,
            None => DatabaseUrl::Sqlite(data.join(DATABASE_FILE)),
        };
        let public_url = http.public_url.clone().or(file.public_url);
        if let Some(url) = &public_url {
            web::settings::check_public_url(url)?;
        }
        let zone = stock.time_zone.clone().or(file.time_zone).unwrap_or_else(|| TIME_ZONE.to_owned());
        let Some(calendar) = Calendar::in_zone(&zone) else {
            bail!("the setting \"time_zone\" is wrong: {zone:?} is not a time zone such as Europe/Berlin");
        };
        let cap = in_range("cap", stock.cap.or(file.cap).unwrap_or(CAP), CAP_MAX)?;
        let segments = in_range("segments", stock.segments.or(file.segments).unwrap_or(SEGMENTS), SEGMENTS_MAX)?;
        let stripes = in_range("stripes", stock.stripes.or(file.stripes).unwrap_or(STRIPES), STRIPES_MAX)?;
        let pay_within =
            in_range("pay_within", stock.pay_within.or(file.pay_within).unwrap_or(PAY_WITHIN), PAY_WITHIN_MAX)?;
        let named = stock.strategy.clone().or(file.strategy);
        let named = named.map(|name| name.parse()).transpose().context("the setting \"strategy\" is wrong")?;
        let strategy = named.unwrap_or(Strategy::ConditionalUpdate);
        let allow_unfenced = stock.allow_unfenced.or(file.allow_unfenced).unwrap_or(false);
        if !strategy.is_safe() {
            bail!(
                "the setting \"strategy\" is wrong: {strategy} loses changes; with --allow-unfenced, requests can choose it"
            );
        }
        Ok(Self {
            listen: http.listen.clone().or(file.listen).unwrap_or_else(|| LISTEN.to_owned()),
            data,
            database,
            redis: servers.redis.clone().or(file.redis),
            redlock: if servers.redlock.is_empty() {
                file.redlock.unwrap_or_default()
            } else {
                servers.redlock.clone()
            },
            public_url,
            otlp: http.otlp.clone().or(file.otlp),
            calendar,
            cap,
            segments,
            stripes,
            strategy,
            allow_unfenced,
            pay_within: Duration::from_secs(u64::from(pay_within)),
        })
    }
}

fn in_range<T: Copy + PartialOrd + From<bool> + Into<i64>>(name: &str, value: T, max: T) -> Result<T> {
    if (T::from(true)..=max).contains(&value) {
        return Ok(value);
    }
    let [value, max]: [i64; 2] = [value, max].map(Into::into);
    let (value, max) = (grouped(value), grouped(max));
    bail!("the setting {name:?} is wrong: {value} is not between 1 and {max}")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests;
