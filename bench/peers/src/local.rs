//! Caches inside the process: hits of one thread.

use amalgam::EntryOptions;
use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Reads between two looks at the clock.
const READS: u64 = 1_000;
/// Longer than a run.
const TTL: Duration = Duration::from_secs(3600);
/// Room for more than the keys, so that nothing is evicted: a hit is what is measured.
const ROOM: u64 = 4;

/// The caches that were asked for, filled.
#[derive(Default)]
pub(crate) struct Peers {
    moka: Option<moka::sync::Cache<u64, Arc<Bytes>>>,
    foyer: Option<foyer_memory::Cache<u64, Arc<Bytes>>>,
    quick: Option<quick_cache::sync::Cache<u64, Arc<Bytes>>>,
    quick_by_text: Option<(quick_cache::sync::Cache<String, Arc<Bytes>>, Vec<String>)>,
    amalgam: Option<(amalgam::Cache<Bytes>, Vec<String>)>,
}

impl Peers {
    /// Hits a second of one of them.
    pub(crate) async fn rate(&mut self, name: &str, keys: u64, span: Duration) -> Result<f64> {
        match name {
            "moka" => {
                let cache = self.moka.get_or_insert_with(|| {
                    let cache = moka::sync::Cache::builder().max_capacity(keys * ROOM).time_to_live(TTL).build();
                    (0..keys).for_each(|key| cache.insert(key, Arc::new(value())));
                    cache.run_pending_tasks();
                    cache
                });
                hits(keys, span, |key| cache.get(&key).is_some())
            }
            "foyer" => {
                let room = usize::try_from(keys * ROOM)?;
                let cache = self.foyer.get_or_insert_with(|| {
                    let cache = foyer_memory::CacheBuilder::new(room).build();
                    (0..keys).for_each(|key| drop(cache.insert(key, Arc::new(value()))));
                    cache
                });
                hits(keys, span, |key| cache.get(&key).is_some())
            }
            "quick_cache" => {
                let room = usize::try_from(keys * ROOM)?;
                let cache = self.quick.get_or_insert_with(|| {
                    let cache = quick_cache::sync::Cache::new(room);
                    (0..keys).for_each(|key| cache.insert(key, Arc::new(value())));
                    cache
                });
                hits(keys, span, |key| cache.get(&key).is_some())
            }
            "quick_cache by text" => {
                let room = usize::try_from(keys * ROOM)?;
                let (cache, names) = self.quick_by_text.get_or_insert_with(|| {
                    let (cache, names) = (quick_cache::sync::Cache::new(room), names(keys));
                    names.iter().for_each(|name| cache.insert(name.clone(), Arc::new(value())));
                    (cache, names)
                });
                by_text(names, span, |name| cache.get(name).is_some())
            }
            "amalgam-cache" => self.amalgam(keys, span).await,
            other => bail!("there is no peer {other}"),
        }
    }

    /// Its keys are text: they are written beforehand, so that only the cache is measured.
    async fn amalgam(&mut self, keys: u64, span: Duration) -> Result<f64> {
        if self.amalgam.is_none() {
            let cache = amalgam::Cache::builder().default_options(EntryOptions::new(TTL)).try_build()?;
            let names = names(keys);
            for name in &names {
                cache.set(name, value()).await?;
            }
            self.amalgam = Some((cache, names));
        }
        let Some((cache, names)) = &self.amalgam else { bail!("it was just filled") };
        let mut random = SmallRng::seed_from_u64(1);
        let (start, mut reads) = (Instant::now(), 0);
        while start.elapsed() < span {
            for _ in 0..READS {
                let name = &names[random.random_range(0..names.len())];
                let found = cache.try_get(name).await?;
                ensure!(found.is_some(), "a filled key was not found");
            }
            reads += READS;
        }
        Ok(reads as f64 / start.elapsed().as_secs_f64())
    }
}

/// Keys as text, written beforehand.
fn names(keys: u64) -> Vec<String> {
    (0..keys).map(|key| format!("row:{key}")).collect()
}

fn value() -> Bytes {
    Bytes::from(vec![b'x'; 100])
}

fn by_text(names: &[String], span: Duration, read: impl Fn(&str) -> bool) -> Result<f64> {
    hits(names.len() as u64, span, |key| {
        let name = usize::try_from(key).ok().and_then(|key| names.get(key));
        name.is_some_and(|name| read(name))
    })
}

fn hits(keys: u64, span: Duration, read: impl Fn(u64) -> bool) -> Result<f64> {
    let mut random = SmallRng::seed_from_u64(1);
    let (start, mut reads, mut found) = (Instant::now(), 0_u64, 0_u64);
    while start.elapsed() < span {
        for _ in 0..READS {
            found += u64::from(read(random.random_range(0..keys)));
        }
        reads += READS;
    }
    ensure!(found == reads, "{} of {reads} reads of filled keys found nothing", reads - found);
    Ok(reads as f64 / start.elapsed().as_secs_f64())
}
