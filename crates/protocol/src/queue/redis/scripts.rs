//! The scripts, each composed of the shared parts that it uses and its own file.

use evenkeel_link::Script;

macro_rules! part {
    ($name:literal) => {
        include_str!(concat!("../shared/", $name, ".lua"))
    };
}

macro_rules! script {
    ($folder:literal / $name:literal, $flags:literal, [$($part:expr),* $(,)?]) => {
        Script::with($name, $flags, &[$($part),*], include_str!(concat!("../scripts/", $folder, "/", $name, ".lua")))
    };
}

const SHARD: &str = part!("shard");
const RECORD: &str = part!("record");
const LEASE: &str = part!("consume/lease");
const PLACE: &str = part!("place");
const END: &str = part!("end");
const NOTES: &str = part!("notes");
const WAKE: &str = part!("wake");
const ACCEPT: &str = part!("accept");
const GROW: &str = part!("grow");
const PREVIEW: &str = part!("preview");

// Rejected as a whole by a Redis server that is out of memory, because they need memory.
pub(crate) static ENQUEUE: Script = script!("enqueue" / "enqueue-1", "", [SHARD, RECORD, PLACE, WAKE, ACCEPT, GROW]);
pub(crate) static PUT: Script = script!("enqueue" / "put-1", "", [SHARD, RECORD, PLACE, WAKE, ACCEPT, GROW]);
pub(crate) static TICK: Script = script!("enqueue" / "tick-1", "", [SHARD, RECORD, WAKE, ACCEPT, GROW]);
pub(crate) static RESCHEDULE: Script =
    script!("operate" / "reschedule-1", "", [SHARD, RECORD, LEASE, PLACE, END, NOTES, WAKE, ACCEPT]);
pub(crate) static REDRIVE: Script = script!("operate" / "redrive-1", "", [SHARD, RECORD, PLACE, END, NOTES, WAKE]);
pub(crate) static AMEND: Script = script!("operate" / "amend-1", "", [SHARD, RECORD, PLACE, NOTES]);
pub(crate) static RECEIVE: Script = script!("grow" / "adopt-1", "", [SHARD, RECORD, WAKE]);
pub(crate) static SWEEP: Script = script!("operate" / "sweep-1", "", []);
pub(crate) static GROWN: Script = script!("grow" / "grown-1", "", []);

// Consumers must be able to drain a queue when Redis is out of memory.
pub(crate) static SETTLE_AND_CLAIM: Script = script!(
    "consume" / "settle_and_claim-1",
    "allow-oom",
    [
        SHARD,
        RECORD,
        LEASE,
        PLACE,
        END,
        NOTES,
        WAKE,
        part!("consume/settle"),
        part!("consume/suspects"),
        part!("consume/claim"),
        part!("consume/answer")
    ]
);
pub(crate) static HEARTBEAT: Script = script!("consume" / "beat-1", "allow-oom", [SHARD, RECORD, LEASE]);
pub(crate) static PROGRESS: Script =
    script!("consume" / "progress-1", "allow-oom", [SHARD, RECORD, LEASE, PLACE, NOTES]);
pub(crate) static REVOKE: Script = script!("operate" / "revoke-1", "allow-oom", [SHARD, RECORD, LEASE, PLACE, END]);
pub(crate) static RESCUE: Script = script!(
    "consume" / "rescue-1",
    "allow-oom",
    [SHARD, RECORD, LEASE, PLACE, END, NOTES, WAKE, part!("consume/silent")]
);
pub(crate) static FORGET: Script = script!("operate" / "forget-1", "allow-oom", [SHARD, RECORD]);
pub(crate) static DELETE: Script = script!("operate" / "delete-1", "allow-oom", [SHARD, RECORD, PLACE, END]);
pub(crate) static PURGE: Script = script!("operate" / "purge-1", "allow-oom", [SHARD, RECORD, PLACE, END]);
pub(crate) static RESUME: Script = script!("operate" / "resume-1", "allow-oom", [SHARD, WAKE]);
pub(crate) static CLOSE: Script = script!("grow" / "close-1", "allow-oom", [SHARD]);
pub(crate) static SEND_ITEMS: Script =
    script!("grow" / "give-1", "allow-oom", [SHARD, RECORD, PLACE, GROW, part!("leaving")]);
pub(crate) static GONE: Script = script!("grow" / "gone-1", "allow-oom", [SHARD]);

pub(crate) static JOB: Script = script!("look" / "job-1", "no-writes", [SHARD, RECORD, PLACE]);
pub(crate) static HEADS: Script = script!("look" / "heads-1", "no-writes", [SHARD, RECORD, PLACE]);
pub(crate) static LIST: Script = script!("look" / "list-1", "no-writes", [SHARD]);
pub(crate) static PREVIEWS: Script = script!("look" / "previews-1", "no-writes", [SHARD, RECORD, PLACE, PREVIEW]);
pub(crate) static STANDING: Script = script!("look" / "standing-1", "no-writes", [SHARD, RECORD, PLACE, PREVIEW]);
pub(crate) static STATS: Script = script!("look" / "stats-1", "no-writes", [SHARD, WAKE]);
pub(crate) static LEAVING: Script = script!("grow" / "leaving-1", "no-writes", [SHARD]);

/// All scripts, to be loaded on every epoch.
pub const SCRIPTS: [&Script; 28] = [
    &ENQUEUE,
    &PUT,
    &TICK,
    &RESCHEDULE,
    &REDRIVE,
    &SETTLE_AND_CLAIM,
    &HEARTBEAT,
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
    &PREVIEWS,
    &STANDING,
    &AMEND,
    &STATS,
    &CLOSE,
    &SEND_ITEMS,
    &LEAVING,
    &RECEIVE,
    &GONE,
    &GROWN,
    &SWEEP,
];
