//! `stockroom load`.

use crate::config::{LoadFlags, ServerFlags};
use crate::domain::Strategy;
use crate::load::{Environment, InProcess, Load, Processes, Row, Share, Urls, table, work};
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

/// Runs the load by each strategy, prints the report, and returns whether every strategy kept its guarantee.
///
/// # Errors
/// A flag is invalid, or a server is unreachable.
pub(super) async fn run(flags: LoadFlags, servers: &ServerFlags) -> Result<bool> {
    if let Some(part) = &flags.part {
        let share: Share = serde_json::from_str(part).context("--part is not valid")?;
        work(&share, &urls(servers).context("--part needs --database and --redis")?).await?;
        return Ok(true);
    }
    let counts = [flags.operations, flags.in_flight, flags.products, flags.workers];
    if counts.contains(&0) || flags.cap < 1 {
        bail!("--operations, --in-flight, --products, --workers and --cap must be at least 1");
    }
    let environment = environment(servers, flags.cap).await?;
    let load = Load {
        operations: flags.operations,
        in_flight: flags.in_flight,
        products: flags.products,
        cap: flags.cap,
        workers: flags.workers,
        seed: flags.seed,
    };
    let mut rows = Vec::new();
    for strategy in strategies(&flags, &environment)? {
        let bar = bar(&load, strategy, flags.json);
        let row = environment.run(&load, strategy, &mut |count| bar.inc(count)).await;
        bar.finish_and_clear();
        let row = row?;
        if flags.json {
            println!("{}", serde_json::to_string(&row)?);
        }
        rows.push(row);
    }
    environment.close().await;
    if !flags.json {
        print!("{}", table(&rows));
        print_violations(&rows);
    }
    Ok(rows.iter().all(Row::is_sound))
}

/// Worker processes on both servers, or this process without servers.
async fn environment(servers: &ServerFlags, cap: i64) -> Result<Environment> {
    match urls(servers) {
        None if servers.database.is_none() && servers.redis.is_none() => {
            Ok(Environment::InProcess(InProcess::new(cap).await?))
        }
        Some(urls) if !urls.database.starts_with("sqlite:") => {
            Ok(Environment::Processes(Processes::new(urls, cap).await?))
        }
        _ => bail!("a load needs both --redis and --database (a database server), or neither"),
    }
}

fn urls(servers: &ServerFlags) -> Option<Urls> {
    let (database, redis) = (servers.database.clone()?, servers.redis.clone()?);
    Some(Urls { database, redis, redlock: servers.redlock.clone() })
}

/// The strategies of the flags, or all that the environment supports.
fn strategies(flags: &LoadFlags, environment: &Environment) -> Result<Vec<Strategy>> {
    if flags.strategy.is_empty() {
        return Ok(Strategy::ALL.into_iter().filter(|strategy| environment.offers(*strategy)).collect());
    }
    flags.strategy.iter().map(|name| Ok(name.parse()?)).collect()
}

fn print_violations(rows: &[Row]) {
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
