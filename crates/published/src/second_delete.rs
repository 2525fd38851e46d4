//! The second delete of a delayed double delete as a delayed job, which survives the process that enqueued it.
//!
//! Every process that uses the cache runs these jobs, from its first miss or invalidation on.

use super::store::PlainStore;
use evenkeel::Keel;
use evenkeel::queue::{Delivery, JobId, Queue, QueueError, Retries};
use evenkeel_link::support::Background;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

/// The longest cache name that is part of its queue's name; a longer one is hashed.
const NAME_BYTES_MAX: usize = 40;
/// The pause between attempts to open the queue.
const AGAIN: Duration = Duration::from_secs(1);

/// The second deletes of one cache.
#[derive(Clone)]
pub(super) struct SecondDeletes(Arc<Inner>);

struct Inner {
    keel: Keel,
    topic: String,
    store: PlainStore,
    queue: OnceCell<Queue<Vec<u8>>>,
    runs: Mutex<Option<Background>>,
}

impl SecondDeletes {
    pub(super) fn new(keel: Keel, cache: &str, store: PlainStore) -> Self {
        let name =
            if cache.len() > NAME_BYTES_MAX { JobId::named(cache.as_bytes()).to_string() } else { cache.to_owned() };
        let topic = format!("second-delete.{name}");
        Self(Arc::new(Inner { keel, topic, store, queue: OnceCell::new(), runs: Mutex::default() }))
    }

    /// Enqueues the delete of `key` after `delay`. Returns whether the queue accepted it.
    pub(super) async fn enqueue(&self, key: &[u8], delay: Duration) -> bool {
        self.watch();
        let enqueue = async { self.queue().await?.delay(delay, &key.to_vec()).await };
        match enqueue.await {
            Ok(_) => true,
            Err(error) => {
                tracing::warn!(%error, "the second delete could not be enqueued; a timer of this process runs it instead");
                false
            }
        }
    }

    /// Runs the jobs of this cache in this process from now on.
    pub(super) fn watch(&self) {
        let mut runs = self.0.runs.lock();
        if runs.is_none() {
            let this = Arc::downgrade(&self.0);
            let clock = self.0.store.clock.clone();
            *runs = Some(Background::spawn("second deletes", clock.clone(), move || {
                let (this, clock) = (this.clone(), clock.clone());
                async move {
                    while let Some(inner) = this.upgrade() {
                        let deletes = Self(inner);
                        let Ok(queue) = deletes.queue().await.cloned() else {
                            drop(deletes);
                            clock.sleep(AGAIN).await;
                            continue;
                        };
                        let store = deletes.0.store.clone();
                        drop(deletes);
                        run(queue, store).await;
                        return;
                    }
                }
            }));
        }
    }

    async fn queue(&self) -> Result<&Queue<Vec<u8>>, QueueError> {
        let Inner { keel, topic, queue, .. } = &*self.0;
        // A server that may evict cache entries may evict this job, too; the entry is then as stale as without it.
        let open = || keel.queue::<Vec<u8>>(topic).retries(Retries::Unlimited).allow_eviction().open();
        queue.get_or_try_init(open).await
    }
}

/// Deletes until the keel is shut down.
async fn run(queue: Queue<Vec<u8>>, store: PlainStore) {
    let consumer = queue.consume(move |job: Delivery<Vec<u8>>| {
        let store = store.clone();
        async move { store.delete(&job.body).await }
    });
    if let Err(error) = consumer.run(std::future::pending()).await {
        tracing::debug!(%error, "the consumer of second deletes ended with its keel");
    }
}
