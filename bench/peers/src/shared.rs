//! amalgam-cache with Redis behind it and nothing in the process, reading rows as JSON.

use amalgam::provider::{DistributedCache, DistributedSerializer, JsonSerializer, RedisDistributedCache};
use amalgam::{Cache, EntryOptions, FactoryError, source};
use anyhow::{Result, ensure};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

/// Longer than a run.
const TTL: Duration = Duration::from_secs(3600);

/// The row that is read; 100 bytes in its JSON form.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct User {
    id: u64,
    name: String,
    mail: String,
    active: bool,
}

/// The cache, filled.
pub(crate) struct Peer {
    cache: Cache<User>,
    keys: u64,
}

impl Peer {
    pub(crate) async fn open(url: &str, keys: u64) -> Result<Self> {
        let redis: Arc<dyn DistributedCache> = Arc::new(RedisDistributedCache::connect(url).await?);
        let json: Arc<dyn DistributedSerializer<User>> = Arc::new(JsonSerializer);
        let cache = Cache::builder()
            .distributed(redis)
            .serializer(json)
            .default_options(EntryOptions::new(TTL).with_skip_memory(true, true))
            .try_build()?;
        for key in 0..keys {
            cache.set(format!("row:{key}"), user()).await?;
        }
        Ok(Self { cache, keys })
    }

    /// Hits a second of `tasks` tasks on this thread.
    pub(crate) async fn rate(&self, tasks: usize, span: Duration) -> Result<f64> {
        let local = LocalSet::new();
        let reads = Rc::new(Cell::new(0_u64));
        let start = Instant::now();
        let running: Vec<_> = (0..tasks)
            .map(|task| {
                let (cache, keys, reads) = (self.cache.clone(), self.keys, Rc::clone(&reads));
                local.spawn_local(async move {
                    let mut random = SmallRng::seed_from_u64(task as u64);
                    while start.elapsed() < span {
                        let key = format!("row:{}", random.random_range(0..keys));
                        let load = source::factory(|context| async move {
                            Err::<_, FactoryError>(context.fail("a filled key was not found"))
                        });
                        let found = cache.get_or_set(key, load).await?;
                        ensure!(found.active, "another row was found");
                        reads.set(reads.get() + 1);
                    }
                    Ok::<_, anyhow::Error>(())
                })
            })
            .collect();
        local
            .run_until(async {
                for task in running {
                    task.await??;
                }
                Ok::<_, anyhow::Error>(())
            })
            .await?;
        Ok(reads.get() as f64 / start.elapsed().as_secs_f64())
    }
}

fn user() -> User {
    User {
        id: 1_234_567_890,
        name: "Augusta Ada King Lovelace".to_owned(),
        mail: "ada.lovelace@example.org".to_owned(),
        active: true,
    }
}
