//! A near cache: two processes keep values in memory, and a write in one drops the value that the other keeps.
//!
//! `cargo run -p evenkeel --features cache --example near_cache -- redis://HOST`; without an argument one process plays both
//! roles.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use evenkeel::Keel;
use evenkeel::cache::{Cache, Freshness, Tier};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Stands in for the database.
#[derive(Clone, Default)]
struct Prices(Arc<Mutex<HashMap<u64, u64>>>);

impl Prices {
    fn set(&self, article: u64, cents: u64) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(article, cents);
    }

    async fn find(self, article: u64) -> Result<Option<u64>, Infallible> {
        println!("    (asking the database for {article})");
        Ok(self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&article).copied())
    }
}

async fn open(keel: &Keel) -> Result<Cache<u64, u64>, evenkeel::cache::CacheError> {
    keel.cache("price")
        .ttl(Duration::from_secs(600))
        .near(10_000) // entries
        .silence_max(Duration::from_secs(10)) // the longest lag, should Redis go silent
        .open()
        .await
}

async fn read(who: &str, prices: &Cache<u64, u64>, db: &Prices) -> Result<Tier, Box<dyn std::error::Error>> {
    let found = prices.get_with(&7, Freshness::Eventual, |article| db.clone().find(*article)).await?;
    println!("  {who} reads {:?} from {:?}", found.value, found.tier);
    Ok(found.tier)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let db = Prices::default();
    db.set(7, 1999);
    let keel = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => Keel::memory(),
    };
    // Another process would connect for itself; a keel in memory has no other process.
    let other = match std::env::args().nth(1) {
        Some(url) => Keel::connect(&url).await?,
        None => keel.clone(),
    };
    let shop = open(&keel).await?;
    let office = if keel.link().is_some() { open(&other).await? } else { shop.clone() };
    shop.purge(&7).await?; // what an earlier run left on a Redis

    println!("the first read loads, the second reads Redis, the third is a near hit:");
    for _ in 0..3 {
        read("the shop", &shop, &db).await?;
    }

    println!("the office writes, and invalidates after the commit:");
    db.set(7, 1499);
    office.invalidate(&7).await?;
    read("the office", &office, &db).await?;

    println!("the shop was notified:");
    while read("the shop", &shop, &db).await? != Tier::Near {}
    Ok(())
}
