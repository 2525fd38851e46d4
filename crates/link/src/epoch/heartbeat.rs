//! Sends `TIME` on every connection: detects dead connections without traffic, samples Redis's clock and checks the server's identity.

use super::Epoch;
use super::health::EndReason;
use super::open::ask_identity;
use super::shared::Shared;
use super::state::LinkState;
use crate::clock::Moment;
use crate::error::LinkError;
use crate::push::subscribe;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;

/// The interval of heartbeats while the epoch is suspect.
const DELAY_SUSPICIOUS: Duration = Duration::from_millis(50);

/// The result of one heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeartbeatResult {
    Healthy,
    /// A connection did not reply, or the server is loading; the next heartbeat follows soon.
    Suspect {
        loading: bool,
    },
}

/// Runs for as long as the link.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut state = shared.state.subscribe();
    loop {
        if state.wait_for(|state| state.is_up()).await.is_err() {
            return;
        }
        let Some(epoch) = shared.current.load_full() else { continue };
        watch(&shared, &epoch).await;
        // Wait until the supervisor has processed the end of this epoch.
        let number = epoch.number();
        if state.wait_for(|state| *state != LinkState::Up { epoch: number }).await.is_err() {
            return;
        }
    }
}

/// Sends heartbeats until the epoch is over.
async fn watch(shared: &Shared, epoch: &Arc<Epoch>) {
    let mut delay = shared.options.heartbeat;
    let mut loading_since = None;
    loop {
        tokio::select! {
            biased;
            _ = epoch.over() => return,
            () = epoch.health.suspected() => {}
            () = shared.clock.sleep(delay) => {}
        }
        delay = match run_once(shared, epoch).await {
            HeartbeatResult::Healthy => {
                loading_since = None;
                shared.metrics.heartbeat_success.set(shared.clock.unix_ms() as f64 / 1000.0);
                shared.options.heartbeat
            }
            HeartbeatResult::Suspect { loading } => {
                loading_since = loading.then(|| loading_since.unwrap_or_else(|| shared.clock.now()));
                give_up_loading(shared, epoch, loading_since);
                DELAY_SUSPICIOUS
            }
        };
    }
}

fn give_up_loading(shared: &Shared, epoch: &Epoch, since: Option<Moment>) {
    if since.is_some_and(|since| shared.clock.now().since(since) >= shared.options.loading_max) {
        epoch.end(EndReason::Loading);
    }
}

/// One heartbeat on all connections at once. Ends the epoch if the server does not reply or is another server.
async fn run_once(shared: &Shared, epoch: &Arc<Epoch>) -> HeartbeatResult {
    let asked = shared.server_clock.asked();
    let probes = epoch.all_lanes().map(|lane| async move {
        let was_silent = lane.silent_timeouts() >= shared.options.silent_timeouts_max;
        match lane.probe(&redis::cmd("TIME")).await {
            Ok(time) => {
                lane.pulse.answered(lane.number, asked);
                shared.server_clock.learn(asked, &time);
                HeartbeatResult::Healthy
            }
            Err(LinkError::NoAnswer { .. }) if was_silent => {
                epoch.end(EndReason::Silent);
                HeartbeatResult::Healthy
            }
            Err(_) => HeartbeatResult::Suspect { loading: false },
        }
    });
    let mut result = HeartbeatResult::Healthy;
    for probed in join_all(probes).await {
        if probed != HeartbeatResult::Healthy {
            result = probed;
        }
    }
    shared.metrics.in_flight.set(epoch.in_flight() as f64);
    if let Some(lane) = epoch.listening.get()
        && subscribe::tidy(shared, lane).await.is_err()
    {
        result = HeartbeatResult::Suspect { loading: false };
    }
    match ask_identity(&epoch.lanes[0]).await {
        Ok(now) if !now.primary => epoch.end(EndReason::NotPrimary),
        Ok(now) if !epoch.identity.is_same_server(&now) => epoch.end(EndReason::OtherServer),
        Ok(now) if now.loading => result = HeartbeatResult::Suspect { loading: true },
        Ok(_) => {}
        Err(_) => result = HeartbeatResult::Suspect { loading: false },
    }
    result
}
