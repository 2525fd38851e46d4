//! Which servers take part. One that is new, was flushed, or was started again may have forgotten locks: it sits out the longest ttl,
//! and comes back above the highest fence that a majority of the others knows.

use super::quorum::{ask, majority};
use super::servers::Servers;
use evenkeel_link::support::{Background, guard};
use evenkeel_protocol::lock::node::{Node, Standing};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// How often servers that are away, or sit out, are looked at.
const EVERY: Duration = Duration::from_secs(1);

/// Starts the loop that looks after the servers for as long as they live. Needs a runtime.
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

/// Connects what is not connected, looks at all servers, and admits those that may take part again. Answers whether all do.
pub(super) async fn run_once(servers: &Servers) -> bool {
    let nodes = &servers.nodes;
    ask(nodes.iter().map(connect), |_| false).await;
    let sit_out_ms = servers.sit_out_ms();
    let standings = servers.all(|node| async move { node.stand(sit_out_ms).await }).await;
    let members: Vec<&Node> = nodes
        .iter()
        .zip(&standings)
        .filter(|(_, standing)| matches!(standing, Ok(Standing::Member)))
        .map(|(node, _)| node)
        .collect();
    let all_answered = standings.iter().all(Result::is_ok);
    let mut count = members.len();
    // All of them without a mark: a new Redlock (or one that lost all its memory at once, and knows no better).
    let is_new = all_answered && members.is_empty();
    for (node, standing) in nodes.iter().zip(&standings) {
        let Ok(Standing::Out { left_ms, mark }) = standing else { continue };
        if *left_ms > 0 && !is_new && guard("redlock_sit_out") {
            continue;
        }
        let Some(floor) = floor(servers, &members, all_answered).await else { continue };
        if matches!(servers.within(node.admit(*mark, floor)).await, Ok(true)) {
            count += 1;
            tracing::info!(floor, "a server of a Redlock takes part");
        }
    }
    servers.metrics.members.set(count as f64);
    count == nodes.len()
}

/// What the fences of a server that comes back must be above: read after it has sat out, from so many others that the fence of
/// every acquisition it may have forgotten is among theirs.
async fn floor(servers: &Servers, members: &[&Node], all_answered: bool) -> Option<u64> {
    let known = ask(members.iter().map(|node| node.fence_max()), |_| false).await;
    let known: Vec<u64> = known.into_iter().flatten().filter_map(Result::ok).collect();
    // When a majority has forgotten at once, what all the others know must do.
    let is_enough = known.len() >= majority(servers.nodes.len()) || (all_answered && known.len() == members.len());
    is_enough.then(|| known.into_iter().max().unwrap_or(0))
}

async fn connect(node: &Node) {
    if let Node::Redis(node) = node {
        node.connect().await;
    }
}
