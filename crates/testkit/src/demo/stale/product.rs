//! The library's caches: the published protocols and the fenced cache, over an embedded store that represents the shared Redis.

use super::TTL;
use super::contestant::{Contestant, Doing, Entrant};
use super::schedule::{Act, PROCESSES};
use super::simulation::{Load, Simulation, Version};
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel_published::Protocol;
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
    simulation: Arc<Simulation>,
    /// One cache per process.
    caches: Vec<Cache<u64, Row>>,
}

/// One contestant per protocol.
pub(super) async fn entrants(simulation: &Arc<Simulation>) -> anyhow::Result<Vec<Entrant>> {
    let choices: [(&str, Choice); 5] = [
        ("Protocol::DelayedDoubleDelete, 500 ms", |keel| Some(double_delete(keel, 500))),
        ("Protocol::DelayedDoubleDelete, 2000 ms", |keel| Some(double_delete(keel, 2_000))),
        ("Protocol::Version", |_| Some(Protocol::Version)),
        ("Protocol::Lease", |_| Some(Protocol::Lease)),
        ("Fenced, the default", |_| None),
    ];
    let mut entrants = Vec::new();
    for (name, choice) in choices {
        let contestant =
            Arc::new(Product { simulation: Arc::clone(simulation), caches: caches(simulation, choice).await? });
        entrants.push(Entrant { name: name.to_owned(), contestant });
    }
    Ok(entrants)
}

/// The protocol of a process; `None` for the default.
type Choice = fn(&Keel) -> Option<Protocol>;

fn double_delete(keel: &Keel, delay_ms: u64) -> Protocol {
    Protocol::DelayedDoubleDelete { delay: Duration::from_millis(delay_ms), keel: keel.clone() }
}

async fn caches(simulation: &Simulation, choice: Choice) -> anyhow::Result<Vec<Cache<u64, Row>>> {
    let shared = Keel::builder().clock(simulation.clock().clone()).memory();
    let mut caches = Vec::new();
    for _ in 0..PROCESSES {
        let keel = shared.another_process();
        let cache = keel.cache("demo").ttl(TTL).version(|row: &Row| row.version);
        caches.push(match choice(&keel) {
            Some(protocol) => cache.protocol(protocol).open().await?,
            None => cache.open().await?,
        });
    }
    Ok(caches)
}

impl Contestant for Product {
    fn read(&self, process: usize, key: u64, load: Load) -> Doing<'_, Result<Version, String>> {
        let simulation = Arc::clone(&self.simulation);
        Box::pin(async move {
            let load = |key: &u64| {
                let key = *key;
                // These contestants read from the primary.
                let load = Load { lag: Duration::ZERO, ..load };
                async move { Ok::<_, Infallible>(Some(Row { version: simulation.select(key, load).await })) }
            };
            let row = self.caches[process].get(&key, load).await.map_err(|error| error.to_string())?;
            Ok(row.map_or(0, |row| row.version))
        })
    }

    fn write(&self, process: usize, key: u64, act: Act) -> Doing<'_, ()> {
        Box::pin(async move {
            let Act::Write { takes, rolled_back, .. } = act else { return };
            let version = self.simulation.draw_version();
            self.simulation.clock().sleep(takes).await;
            if rolled_back {
                return;
            }
            self.simulation.commit(key, version);
            // An embedded store does not fail; a failed write would not be acknowledged.
            if self.caches[process].invalidate_at(&key, version).await.is_ok() {
                self.simulation.acknowledge(key, version);
            }
        })
    }
}
