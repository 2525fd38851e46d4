//! The background tasks of a service.

use super::Service;
use std::future::Future;
use tokio::sync::{oneshot, watch};
use tracing::{info, warn};
use web::stopping;

impl Service {
    /// Runs the background tasks until `shutdown`, then finishes those in progress: the outbox relay, the expiry jobs, the worker that
    /// applies pending writes, and the consumer of clicks. Any number of instances may run them at once.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let (stop, stopped) = watch::channel(false);
        let signal = async {
            shutdown.await;
            stop.send_replace(true);
        };
        // The relay stops last: the other tasks commit effects that it carries out.
        let (over, is_over) = oneshot::channel::<()>();
        let work = async {
            tokio::join!(
                self.apply_writes(stopping(&stopped)),
                self.expire_links(stopping(&stopped)),
                self.fold_clicks(stopping(&stopped)),
                self.forget_clicks(stopping(&stopped)),
                self.upgrade()
            );
            drop(over);
        };
        let until_over = async { drop(is_over.await) };
        tokio::join!(signal, work, self.0.writer.run_relay(until_over));
    }

    async fn apply_writes(&self, shutdown: impl Future<Output = ()> + Send) {
        if let Some(behind) = self.0.write_behind.clone() {
            behind.run(shutdown).await;
        }
    }

    async fn expire_links(&self, shutdown: impl Future<Output = ()> + Send) {
        if let Err(error) = self.0.expiry.clone().run(self.0.writer.clone(), shutdown).await {
            warn!(%error, "expiry jobs have stopped; redirects still check each link's expiry");
        }
    }

    async fn fold_clicks(&self, shutdown: impl Future<Output = ()> + Send) {
        let Some(clicks) = self.0.clicks.clone() else { return };
        if let Err(error) = clicks.fold(self.0.writer.clone(), shutdown).await {
            warn!(%error, "clicks are appended and no longer added to the counters by this instance");
        }
    }

    async fn forget_clicks(&self, shutdown: impl Future<Output = ()> + Send) {
        if self.counts_clicks() {
            self.0.writer.run_click_retention(shutdown).await;
        }
    }

    async fn upgrade(&self) {
        match self.0.writer.enqueue_missing_expiry_jobs().await {
            Ok(0) => {}
            Ok(links) => info!(links, "enqueued expiry jobs for links of an earlier version"),
            Err(error) => {
                warn!(%error, "cannot enqueue expiry jobs for links of an earlier version; redirects still check each link's expiry");
            }
        }
    }
}
