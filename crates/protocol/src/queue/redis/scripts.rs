//! The scripts, each composed of the shared parts that it uses and its own file.

use evenkeel_link::Script;

macro_rules! part {
    ($name:literal) => {
        include_str!(concat!("../shared/", $name, ".lua"))
    };
}

macro_rules! script {
    ($name:literal, $flags:literal, [$($part:expr),+ $(,)?]) => {
        Script::with($name, $flags, &[$($part),+], include_str!(concat!("../scripts/", $name, ".lua")))
    };
}

const SHARD: &str = part!("shard");
const RECORD: &str = part!("record");
const LEASE: &str = part!("lease");
const PLACE: &str = part!("place");
const END: &str = part!("end");
const NOTES: &str = part!("notes");
const WAKE: &str = part!("wake");
const ACCEPT: &str = part!("accept");
const GROW: &str = part!("grow");

// Rejected as a whole by a Redis server that is out of memory, because they need memory.
pub(crate) static ENQUEUE: Script = script!("enqueue-1", "", [SHARD, RECORD, PLACE, WAKE, ACCEPT, GROW]);
pub(crate) static PUT: Script = script!("put-1", "", [SHARD, RECORD, PLACE, WAKE, ACCEPT, GROW]);
pub(crate) static TICK: Script = script!("tick-1", "", [SHARD, RECORD, WAKE, ACCEPT, GROW]);
pub(crate) static RESCHEDULE: Script =
    script!("reschedule-1", "", [SHARD, RECORD, LEASE, PLACE, END, NOTES, WAKE, ACCEPT]);
pub(crate) static REDRIVE: Script = script!("redrive-1", "", [SHARD, RECORD, PLACE, END, NOTES, WAKE]);
pub(crate) static ADOPT: Script = script!("adopt-1", "", [SHARD, RECORD, WAKE]);
pub(crate) static SWEEP: Script = Script::with("sweep-1", "", &[], include_str!("../scripts/sweep-1.lua"));
pub(crate) static GROWN: Script = Script::with("grown-1", "", &[], include_str!("../scripts/grown-1.lua"));

// Consumers must be able to drain a queue when Redis is out of memory.
pub(crate) static SETTLE_AND_CLAIM: Script = script!(
    "settle_and_claim-1",
    "allow-oom",
    [
        SHARD,
        RECORD,
        LEASE,
        PLACE,
        END,
        NOTES,
        WAKE,
        part!("settle"),
        part!("suspects"),
        part!("claim"),
        part!("answer")
    ]
);
pub(crate) static BEAT: Script = script!("beat-1", "allow-oom", [SHARD, RECORD, LEASE]);
pub(crate) static PROGRESS: Script = script!("progress-1", "allow-oom", [SHARD, RECORD, LEASE, PLACE, NOTES]);
pub(crate) static REVOKE: Script = script!("revoke-1", "allow-oom", [SHARD, RECORD, LEASE, PLACE, END]);
pub(crate) static RESCUE: Script =
    script!("rescue-1", "allow-oom", [SHARD, RECORD, LEASE, PLACE, END, NOTES, WAKE, part!("silent")]);
pub(crate) static FORGET: Script = script!("forget-1", "allow-oom", [SHARD, RECORD]);
pub(crate) static DELETE: Script = script!("delete-1", "allow-oom", [SHARD, RECORD, PLACE, END]);
pub(crate) static PURGE: Script = script!("purge-1", "allow-oom", [SHARD, RECORD, PLACE, END]);
pub(crate) static RESUME: Script = script!("resume-1", "allow-oom", [SHARD, WAKE]);
pub(crate) static CLOSE: Script = script!("close-1", "allow-oom", [SHARD]);
pub(crate) static GIVE: Script = script!("give-1", "allow-oom", [SHARD, RECORD, PLACE, GROW]);
pub(crate) static GONE: Script = script!("gone-1", "allow-oom", [SHARD]);

pub(crate) static JOB: Script = script!("job-1", "no-writes", [SHARD, RECORD, PLACE]);
pub(crate) static HEADS: Script = script!("heads-1", "no-writes", [SHARD, RECORD, PLACE]);
pub(crate) static LIST: Script = script!("list-1", "no-writes", [SHARD]);
pub(crate) static STATS: Script = script!("stats-1", "no-writes", [SHARD, WAKE]);
pub(crate) static LEAVING: Script = script!("leaving-1", "no-writes", [SHARD]);

/// All scripts, to be loaded on every epoch.
pub const SCRIPTS: [&Script; 25] = [
    &ENQUEUE,
    &PUT,
    &TICK,
    &RESCHEDULE,
    &REDRIVE,
    &SETTLE_AND_CLAIM,
    &BEAT,
    &PROGRESS,
    &REVOKE,
    &RESCUE,
    &FORGET,
    &DELETE,
    &PURGE,
    &RESUME,
    &JOB,
    &HEADS,
    &LIST,
    &STATS,
    &CLOSE,
    &GIVE,
    &LEAVING,
    &ADOPT,
    &GONE,
    &GROWN,
    &SWEEP,
];
