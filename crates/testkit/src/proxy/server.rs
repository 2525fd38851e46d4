//! The thread of the proxy: a listener that can be closed and reopened, and a task per connection.

use super::connection;
use super::shared::{Rules, Shared};
use std::io;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

/// Serves until `stopped`. `ready` receives the result of opening the listener.
pub(super) fn run(
    shared: &Arc<Shared>,
    port: u16,
    mut stopped: watch::Receiver<bool>,
    ready: oneshot::Sender<io::Result<()>>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            ready.send(Err(error)).ok();
            return;
        }
    };
    runtime.block_on(async {
        tokio::select! {
            () = serve(shared, port, ready) => {}
            // The handle was dropped.
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
    });
    // Dropping the runtime drops the task and the sockets of every connection.
}

async fn serve(shared: &Arc<Shared>, port: u16, ready: oneshot::Sender<io::Result<()>>) {
    let mut rules = shared.rules.subscribe();
    let mut ready = Some(ready);
    loop {
        let listener = TcpListener::bind(("127.0.0.1", port)).await;
        let outcome = listener.as_ref().map(drop).map_err(|error| io::Error::from(error.kind()));
        if let Some(ready) = ready.take() {
            ready.send(outcome).ok();
        }
        let Ok(listener) = listener else { return };
        shared.count(|counters| counters.listening = true);
        tokio::select! {
            () = accept(shared, &listener) => {}
            _ = rules.wait_for(|rules| rules.refuse) => {}
        }
        drop(listener);
        shared.count(|counters| counters.listening = false);
        if rules.wait_for(|rules: &Rules| !rules.refuse).await.is_err() {
            return;
        }
    }
}

async fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    while let Ok((client, _)) = listener.accept().await {
        let orders = {
            let rules = shared.rules.borrow();
            (rules.cuts, rules.half_opens)
        };
        let mut number = 0;
        shared.count(|counters| {
            counters.accepted += 1;
            counters.open += 1;
            number = counters.accepted;
        });
        let shared = shared.clone();
        tokio::spawn(async move {
            connection::run(&shared, client, number, orders).await;
            shared.count(|counters| counters.open -= 1);
        });
    }
}
