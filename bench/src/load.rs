//! Closed-loop load: a number of tasks, each starting its next operation when the last one is done.

use anyhow::Result;
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Operations per second of `tasks` tasks over `span`. Each operation gets a random number; the first error ends it all.
pub(crate) async fn rate<Operation, Done>(tasks: usize, span: Duration, operation: Operation) -> Result<f64>
where
    Operation: Fn(u64) -> Done + Clone + Send + 'static,
    Done: Future<Output = Result<()>> + Send,
{
    let stop = Arc::new(AtomicBool::new(false));
    let mut running = JoinSet::new();
    let start = Instant::now();
    for task in 0..tasks {
        let (stop, operation) = (Arc::clone(&stop), operation.clone());
        running.spawn(async move {
            let mut random = SmallRng::seed_from_u64(task as u64);
            let mut count = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                operation(random.next_u64()).await?;
                count += 1;
            }
            Ok::<_, anyhow::Error>(count)
        });
    }
    tokio::time::sleep(span).await;
    stop.store(true, Ordering::Relaxed);
    let mut count = 0;
    while let Some(done) = running.join_next().await {
        count += done??;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}
