//! The library's caches: the published protocols and the fenced cache, over an embedded store that represents the shared Redis.

use super::TTL;
use super::contestant::{Contestant, Doing, Entrant};
use super::schedule::{Act, PROCESSES};
use super::world::{Load, Version, World};
use evenkeel::Keel;
use evenkeel::cache::{Cache, Protocol};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// A row in the cache.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    version: Version,
}

struct Product {
    world: Arc<World>,
    /// One cache per process.
    caches: Vec<Cache<u64, Row>>,
}

/// One contestant per protocol.
pub(super) fn entrants(world: &Arc<World>) -> anyhow::Result<Vec<Entrant>> {
    let double_delete = |delay_ms| Protocol::DelayedDoubleDelete { delay: Duration::from_millis(delay_ms) };
    [
        ("Protocol::DelayedDoubleDelete, 500 ms", double_delete(500)),
        ("Protocol::DelayedDoubleDelete, 2000 ms", double_delete(2_000)),
        ("Protocol::Version", Protocol::Version),
        ("Protocol::Lease", Protocol::Lease),
        ("Protocol::Fenced", Protocol::Fenced),
    ]
    .into_iter()
    .map(|(name, protocol)| {
        let contestant = Arc::new(Product { world: Arc::clone(world), caches: caches(world, protocol)? });
        Ok(Entrant { name: name.to_owned(), contestant })
    })
    .collect()
}

fn caches(world: &World, protocol: Protocol) -> anyhow::Result<Vec<Cache<u64, Row>>> {
    let keel = Keel::builder().clock(world.clock().clone()).memory();
    (0..PROCESSES)
        .map(|_| {
            let cache = keel.another_process().cache("demo").ttl(TTL).protocol(protocol);
            Ok(cache.version(|row: &Row| row.version).build()?)
        })
        .collect()
}

impl Contestant for Product {
    fn read(&self, process: usize, key: u64, load: Load) -> Doing<'_, Result<Version, String>> {
        let world = Arc::clone(&self.world);
        Box::pin(async move {
            let load = |key: &u64| {
                let key = *key;
                // These contestants read from the primary.
                let load = Load { lag: Duration::ZERO, ..load };
                async move { Ok::<_, Infallible>(Some(Row { version: world.select(key, load).await })) }
            };
            let row = self.caches[process].get(&key, load).await.map_err(|error| error.to_string())?;
            Ok(row.map_or(0, |row| row.version))
        })
    }

    fn write(&self, process: usize, key: u64, act: Act) -> Doing<'_, ()> {
        Box::pin(async move {
            let Act::Write { takes, rolled_back, .. } = act else { return };
            let version = self.world.draw_version();
            self.world.clock().sleep(takes).await;
            if rolled_back {
                return;
            }
            self.world.commit(key, version);
            // An embedded store does not fail; a failed write would not be acknowledged.
            if self.caches[process].invalidate_at(&key, version).await.is_ok() {
                self.world.acknowledge(key, version);
            }
        })
    }
}
