//! What a service does behind its visitors' backs.

use super::Service;
use std::future::Future;
use tokio::sync::{oneshot, watch};
use tracing::{info, warn};

impl Service {
    /// Carries out what commits have left undone, switches links off when they end, and brings writes to the database that were
    /// answered before, until `shutdown`; then it finishes what is under way. Any number of instances may do so at once.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        let (stop, stopped) = watch::channel(false);
        let signal = async {
            shutdown.await;
            stop.send_replace(true);
        };
        // The relay outlives those who leave it work.
        let (over, is_over) = oneshot::channel::<()>();
        let work = async {
            tokio::join!(self.settle(told(&stopped)), self.switch_off(told(&stopped)), self.upgrade());
            drop(over);
        };
        let until_over = async { drop(is_over.await) };
        tokio::join!(signal, work, self.0.writer.run_relay(until_over));
    }

    async fn settle(&self, shutdown: impl Future<Output = ()> + Send) {
        if let Some(behind) = self.0.behind.clone() {
            behind.run(shutdown).await;
        }
    }

    async fn switch_off(&self, shutdown: impl Future<Output = ()> + Send) {
        if let Err(error) = self.0.ends.clone().run(self.0.writer.clone(), shutdown).await {
            warn!(%error, "links are not switched off any more; their ends are still checked on read");
        }
    }

    async fn upgrade(&self) {
        match self.0.writer.upgrade_ends().await {
            Ok(0) => {}
            Ok(links) => info!(links, "links that an earlier version made are switched off when they end"),
            Err(error) => warn!(%error, "cannot look for links that end; those without a job end on read"),
        }
    }
}

/// Ready once the signal has come, or whoever gives it is gone.
fn told(stopped: &watch::Receiver<bool>) -> impl Future<Output = ()> + Send + use<> {
    let mut stopped = stopped.clone();
    async move {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }
}
