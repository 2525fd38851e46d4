//! The scripts, each made of the shared parts it uses and its own file.

use crate::link::Script;

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

// Refused as a whole by a Redis that is out of memory: they make it fuller.
pub(super) static ENQUEUE: Script = script!("enqueue-1", "", [SHARD, RECORD, PLACE, WAKE, ACCEPT, GROW]);
pub(super) static PUT: Script = script!("put-1", "", [SHARD, RECORD, PLACE, WAKE, ACCEPT, GROW]);
pub(super) static TICK: Script = script!("tick-1", "", [SHARD, RECORD, WAKE, ACCEPT, GROW]);
pub(super) static RESCHEDULE: Script =
    script!("reschedule-1", "", [SHARD, RECORD, LEASE, PLACE, END, NOTES, WAKE, ACCEPT]);
pub(super) static REDRIVE: Script = script!("redrive-1", "", [SHARD, RECORD, PLACE, END, NOTES, WAKE]);
pub(super) static ADOPT: Script = script!("adopt-1", "", [SHARD, RECORD, WAKE]);
pub(super) static SWEEP: Script = Script::with("sweep-1", "", &[], include_str!("../scripts/sweep-1.lua"));
pub(crate) static GROWN: Script = Script::with("grown-1", "", &[], include_str!("../scripts/grown-1.lua"));

// A queue must be drained when Redis is full.
pub(super) static SETTLE_AND_CLAIM: Script = script!(
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
pub(super) static BEAT: Script = script!("beat-1", "allow-oom", [SHARD, RECORD, LEASE]);
pub(super) static PROGRESS: Script = script!("progress-1", "allow-oom", [SHARD, RECORD, LEASE, PLACE, NOTES]);
pub(super) static REVOKE: Script = script!("revoke-1", "allow-oom", [SHARD, RECORD, LEASE, PLACE, END]);
pub(super) static RESCUE: Script =
    script!("rescue-1", "allow-oom", [SHARD, RECORD, LEASE, PLACE, END, NOTES, WAKE, part!("silent")]);
pub(super) static FORGET: Script = script!("forget-1", "allow-oom", [SHARD, RECORD]);
pub(super) static DELETE: Script = script!("delete-1", "allow-oom", [SHARD, RECORD, PLACE, END]);
pub(super) static PURGE: Script = script!("purge-1", "allow-oom", [SHARD, RECORD, PLACE, END]);
pub(super) static RESUME: Script = script!("resume-1", "allow-oom", [SHARD, WAKE]);
pub(super) static CLOSE: Script = script!("close-1", "allow-oom", [SHARD]);
pub(super) static GIVE: Script = script!("give-1", "allow-oom", [SHARD, RECORD, PLACE, GROW]);
pub(super) static GONE: Script = script!("gone-1", "allow-oom", [SHARD]);

pub(super) static JOB: Script = script!("job-1", "no-writes", [SHARD, RECORD, PLACE]);
pub(super) static HEADS: Script = script!("heads-1", "no-writes", [SHARD, RECORD, PLACE]);
pub(super) static LIST: Script = script!("list-1", "no-writes", [SHARD]);
pub(super) static STATS: Script = script!("stats-1", "no-writes", [SHARD, WAKE]);
pub(super) static LEAVING: Script = script!("leaving-1", "no-writes", [SHARD]);

/// All of them, to be loaded on every epoch.
pub(crate) const ALL: [&Script; 25] = [
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
