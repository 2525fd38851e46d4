//! Unregisters a group of a stream that has no consumers any more.

use super::{Done, Failure, Operation};
use crate::kind::{GROUP_IN_USE, UNKNOWN_GROUP};
use crate::roles::Action;
use crate::stream::figures;
use evenkeel::Keel;
use evenkeel::stream::admin::{GroupState, StreamAdmin};
use evenkeel_link::support::guard;
use evenkeel_protocol::stream::name::Partition;
use serde_json::json;
use web::Problem;

/// `state` is that of a [`group`], and [`left`] what Redis still has of it.
pub(crate) fn unregister<'a>(keel: &'a Keel, stream: &'a StreamAdmin, state: &'a GroupState) -> Operation<'a> {
    let (name, group) = (stream.name(), state.name.as_str());
    let run = async move {
        if let Some(reason) = in_use(state) {
            let problem = Problem::new(GROUP_IN_USE, format!("{reason}. Nothing was changed."));
            return Err(Failure::invalid(problem, reason));
        }
        stream.unregister(group).await?;
        let remains = remains(keel, name, group, &left(state));
        let line = format!("unregistered{remains}");
        Ok(Done::new("unregistered", format!("{group} is {line}."), line))
    };
    let target = json!({ "stream": name, "group": group });
    Operation::new((Action::Unregister, "unregister"), name, target, run).confirmed_by("the group's name", group)
}

/// A registered group: a misspelled name is not a group without entries or letters.
pub(crate) async fn group(stream: &StreamAdmin, group: &str) -> Result<GroupState, Failure> {
    let found = figures::groups(stream).await?.into_iter().find(|state| state.name == group);
    found.ok_or_else(|| {
        let (name, problem) = (stream.name(), Problem::plain(UNKNOWN_GROUP));
        let line = format!("stream {name} has no group {group}; `evenkeel stream groups {name}` lists its groups");
        Failure::invalid(problem, line)
    })
}

/// Why a group cannot be unregistered now. The consumers of an unordered group own no partitions, and are not noticed.
fn in_use(state: &GroupState) -> Option<String> {
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
fn remains(keel: &Keel, stream: &str, group: &str, left: &[u16]) -> String {
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
