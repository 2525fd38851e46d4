//! Bring your own version: the table counts the versions of its rows, and the cache rejects a row older than the newest
//! version it has seen, wherever that row comes from.
//!
//! `cargo run -p evenkeel --features cache --example bring_your_own_version`
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::time::Duration;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Price {
    cents: u64,
    version: u64,
}

/// Stands in for a database: a primary, and a replica that does not have the last write yet.
const REPLICA: Price = Price { cents: 990, version: 1 };
const PRIMARY: Price = Price { cents: 1_290, version: 2 };

async fn load(row: Price) -> Result<Option<Price>, Infallible> {
    Ok(Some(row))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keel = Keel::memory();
    let prices =
        keel.cache::<str, Price>("price").ttl(Duration::from_secs(600)).version(|price| price.version).open().await?;
    let cents = |price: Option<std::sync::Arc<Price>>| price.map_or(0, |price| price.cents);

    println!("before the write: {}", cents(prices.get("tea", |_| load(REPLICA)).await?));
    prices.invalidate_at("tea", PRIMARY.version).await?; // the writer knows the row's new version
    println!("read from the replica, not stored: {}", cents(prices.get("tea", |_| load(REPLICA)).await?));
    println!("read from the primary, stored: {}", cents(prices.get("tea", |_| load(PRIMARY)).await?));
    println!("from the cache: {}", cents(prices.get("tea", |_| load(REPLICA)).await?));
    Ok(())
}
