//! The membership of servers. A server that is new, was flushed, or was restarted may have lost locks: it is excluded for the longest ttl,
//! and rejoins with a fence floor above the highest fence of a majority of the others.

use super::quorum::{ask, majority};
use super::servers::Servers;
use evenkeel_link::support::{Background, guard};
use evenkeel_protocol::lock::node::{Membership, Node};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// The interval of checks while servers are unreachable or excluded.
const EVERY: Duration = Duration::from_secs(1);

/// Starts the loop that admits servers, until they are dropped. Needs a runtime.
pub(super) fn start(servers: &Arc<Servers>) -> Background {
    let (weak, wake) = (Arc::downgrade(servers), Arc::clone(&servers.outsider_seen));
    let clock = servers.clock.clone();
    Background::spawn("redlock assembly", servers.clock.clone(), move || {
        keep(Weak::clone(&weak), Arc::clone(&wake), clock.clone())
    })
}

async fn keep(servers: Weak<Servers>, wake: Arc<Notify>, clock: evenkeel_link::clock::Clock) {
    loop {
        let Some(all) = servers.upgrade() else { return };
        let is_complete = run_once(&all).await;
        drop(all);
        if is_complete {
            wake.notified().await;
        } else {
            tokio::select! {
                () = wake.notified() => {}
                () = clock.sleep(EVERY) => {}
            }
        }
    }
}

/// Connects to all servers, checks them, and admits those that may take part again. Returns whether all take part.
pub(super) async fn run_once(servers: &Servers) -> bool {
    let nodes = &servers.nodes;
    ask(nodes.iter().map(|node| node.connect()), |_| false).await;
    let sit_out_ms = servers.sit_out_ms();
    let memberships = servers.all(|node| async move { node.membership(sit_out_ms).await }).await;
    let members: Vec<&dyn Node> = nodes
        .iter()
        .zip(&memberships)
        .filter(|(_, membership)| matches!(membership, Ok(Membership::Member)))
        .map(|(node, _)| &**node)
        .collect();
    let all_answered = memberships.iter().all(Result::is_ok);
    let mut count = members.len();
    // No server has a mark: the Redlock is new (or all servers have lost their data, which looks the same).
    let is_new = all_answered && members.is_empty();
    for (node, membership) in nodes.iter().zip(&memberships) {
        let Ok(Membership::Out { left_ms, mark }) = membership else { continue };
        if *left_ms > 0 && !is_new && guard("redlock_sit_out") {
            continue;
        }
        let Some(floor) = floor(servers, &members, all_answered).await else { continue };
        if matches!(servers.within(node.admit(*mark, floor)).await, Ok(true)) {
            count += 1;
            tracing::info!(floor, "a server was admitted to a Redlock");
        }
    }
    servers.metrics.members.set(count as f64);
    count == nodes.len()
}

/// The fence floor of an admitted server: read after its exclusion, from so many members that they have the fence of every acquisition that
/// it may have lost.
async fn floor(servers: &Servers, members: &[&dyn Node], all_answered: bool) -> Option<u64> {
    let known = ask(members.iter().map(|node| node.fence_max()), |_| false).await;
    let known: Vec<u64> = known.into_iter().flatten().filter_map(Result::ok).collect();
    // If a majority has lost its data at once, the fences of all the others have to be enough.
    let is_enough = known.len() >= majority(servers.nodes.len()) || (all_answered && known.len() == members.len());
    is_enough.then(|| known.into_iter().max().unwrap_or(0))
}
