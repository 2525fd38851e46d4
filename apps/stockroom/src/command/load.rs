//! `stockroom load`.

use crate::config::{Load as Flags, Place};
use crate::domain::Strategy;
use crate::load::{Addresses, Ground, Here, Load, Row, Servers, Slice, table, work};
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

/// Runs the load by each strategy, tells what became of it, and answers whether all that promise something kept it.
///
/// # Errors
/// One sentence on what is in the way.
pub(super) async fn run(flags: Flags, place: &Place) -> Result<bool> {
    if let Some(part) = &flags.part {
        let slice: Slice = serde_json::from_str(part).context("a part of a load cannot be read")?;
        work(&slice, &addresses(place).context("a part of a load needs a database and a Redis")?).await?;
        return Ok(true);
    }
    if flags.operations == 0 || flags.in_flight == 0 || flags.cap < 1 {
        bail!("a load has at least one operation, one at once, and a cap of at least 1");
    }
    let ground = ground(place, flags.cap).await?;
    let load = Load {
        operations: flags.operations,
        in_flight: flags.in_flight,
        products: flags.products,
        cap: flags.cap,
        workers: flags.workers,
        seed: flags.seed,
    };
    let mut rows = Vec::new();
    for strategy in strategies(&flags, &ground)? {
        let bar = bar(&load, strategy, flags.json);
        let row = ground.run(&load, strategy, &mut |count| bar.inc(count)).await;
        bar.finish_and_clear();
        let row = row?;
        if flags.json {
            println!("{}", serde_json::to_string(&row)?);
        }
        rows.push(row);
    }
    ground.close().await;
    if !flags.json {
        print!("{}", table(&rows));
        tell(&rows);
    }
    Ok(rows.iter().all(Row::is_sound))
}

/// Servers if both are named, this process if none is.
async fn ground(place: &Place, cap: i64) -> Result<Ground> {
    match addresses(place) {
        None if place.database.is_none() && place.redis.is_none() => Ok(Ground::Here(Here::new(cap).await?)),
        Some(addresses) if !addresses.database.starts_with("sqlite:") => {
            Ok(Ground::Servers(Servers::new(addresses, cap).await?))
        }
        _ => bail!("a load runs on a Redis and a database server (--redis and --database), or on neither"),
    }
}

fn addresses(place: &Place) -> Option<Addresses> {
    let (database, redis) = (place.database.clone()?, place.redis.clone()?);
    Some(Addresses { database, redis, redlock: place.redlock.clone() })
}

/// Those that were named, or all that this ground has what it takes for.
fn strategies(flags: &Flags, ground: &Ground) -> Result<Vec<Strategy>> {
    if flags.strategy.is_empty() {
        return Ok(Strategy::ALL.into_iter().filter(|strategy| ground.offers(*strategy)).collect());
    }
    flags.strategy.iter().map(|name| Ok(name.parse()?)).collect()
}

fn tell(rows: &[Row]) {
    for row in rows {
        if let Some(violation) = &row.first_violation {
            println!("{}: {violation}", row.strategy);
        }
    }
}

fn bar(load: &Load, strategy: Strategy, is_quiet: bool) -> ProgressBar {
    if is_quiet {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg:18} {wide_bar} {pos}/{len} {per_sec}");
    let bar = ProgressBar::new(load.operations).with_message(strategy.name());
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
