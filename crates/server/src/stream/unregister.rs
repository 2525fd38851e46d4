//! `unregister`: forgets a group. The console shares the checks and the texts.

use super::change::GroupArguments;
use super::figures;
use crate::output::Output;
use anyhow::{Result, bail};
use evenkeel::Keel;
use evenkeel::stream::StreamError;
use evenkeel::stream::admin::{GroupState, StreamAdmin};
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::name::Partition;
use serde_json::json;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    of: GroupArguments,
    /// Confirm by repeating the name of the group
    #[arg(long, value_name = "GROUP")]
    confirm: Option<String>,
}

pub(super) async fn run(keel: &Keel, arguments: &Arguments, output: Output) -> Result<bool> {
    let stream = keel.stream_admin(&arguments.of.stream).await?;
    let (name, group) = (stream.name(), &arguments.of.group);
    let Some(state) = find(&stream, group).await? else {
        bail!("stream {name} has no group {group}; `evenkeel stream groups {name}` lists its groups");
    };
    if let Some(reason) = in_use(&state) {
        bail!("{reason}");
    }
    if arguments.confirm.as_deref() != Some(group) && guard("stream_command_unregister_confirmed") {
        bail!("this unregisters the group {group} of {name}: {}; to do it, add --confirm {group}", effect(&state));
    }
    stream.unregister(group).await?;
    let left = left(&state);
    let value = json!({ "stream": name, "group": group, "unregistered": true, "partitions_left": left });
    output.print(&value, &format!("{group} of {name}: unregistered{}\n", remains(keel, name, group, &left)))?;
    Ok(true)
}

/// A registered group.
pub(crate) async fn find(stream: &StreamAdmin, group: &str) -> Result<Option<GroupState>, StreamError> {
    Ok(figures::groups(stream).await?.into_iter().find(|state| state.name == group))
}

/// Why a group cannot be unregistered now. The consumers of an unordered group own no partitions, and are not noticed.
pub(crate) fn in_use(state: &GroupState) -> Option<String> {
    let owned = figures::owned(state);
    (owned > 0 && guard("stream_unregister_unused")).then(|| {
        format!(
            "consumers of {} own {owned} of its partitions; stop them first, because a consumer registers its group again",
            state.name
        )
    })
}

/// What is no longer seen.
pub(crate) fn effect(state: &GroupState) -> String {
    let unread = figures::entries(state.lag_entries());
    format!(
        "{unread} unread entries are not delivered to it, {} pending ones are not settled, and {} dead letters are no longer listed",
        state.pending(),
        state.dead()
    )
}

/// The partitions in which Redis still has the group.
pub(crate) fn left(state: &GroupState) -> Vec<u16> {
    (0..).zip(&state.partitions).filter_map(|(number, stats)| stats.as_ref().map(|_| number)).collect()
}

/// What an operator still has to remove: the library has no call that removes a group from Redis.
pub(crate) fn remains(keel: &Keel, stream: &str, group: &str, left: &[u16]) -> String {
    let (Some(link), Some(first)) = (keel.link(), left.first()) else { return String::new() };
    let Ok(partition) = Partition::new(link.prefix(), stream, *first) else { return String::new() };
    let numbers: Vec<String> = left.iter().map(ToString::to_string).collect();
    format!(
        "; Redis still has it in the partitions {}, which keep the entries that it has not settled: in each of them run \
         XGROUP DESTROY {}:log {group}, with the number of the partition",
        numbers.join(", "),
        partition.tag()
    )
}
