//! The scripts, each composed of the shared parts that it uses and its own file.

scripts! {
    /// All scripts, to be loaded on every epoch.
    pub const SCRIPTS in "", "steps/";
    library "queue" of [
        "shard", "record", "consume/lease", "place", "end", "notes", "preview", "wake", "accept", "grow", "leaving",
        "consume/settle", "consume/suspects", "consume/claim", "consume/answer", "consume/silent",
    ];

    // Rejected as a whole by a Redis server that is out of memory, because they need memory.
    pub(crate) static ENQUEUE = "enqueue-1" in "enqueue", "", ["shard", "record", "place", "wake", "accept", "grow"];
    pub(crate) static PUT = "put-1" in "enqueue", "", ["shard", "record", "place", "wake", "accept", "grow"];
    pub(crate) static TICK = "tick-1" in "enqueue", "", ["shard", "record", "wake", "accept", "grow"];
    pub(crate) static RESCHEDULE = "reschedule-1" in "operate", "",
        ["shard", "record", "consume/lease", "place", "end", "notes", "wake", "accept"];
    pub(crate) static REDRIVE = "redrive-1" in "operate", "", ["shard", "record", "place", "end", "notes", "wake"];
    pub(crate) static AMEND = "amend-1" in "operate", "", ["shard", "record", "place", "notes"];
    pub(crate) static RECEIVE = "receive-1" in "grow", "", ["shard", "record", "wake"];
    pub(crate) static SWEEP = "sweep-1" in "operate", "", [];
    pub(crate) static GROWN = "grown-1" from "grown-1.lua", "", [];

    // Consumers must be able to drain a queue when Redis is out of memory.
    pub(crate) static SETTLE_AND_CLAIM = "settle_and_claim-1" in "consume", "allow-oom",
        ["shard", "record", "consume/lease", "place", "end", "notes",
         "wake", "consume/settle", "consume/suspects", "consume/claim", "consume/answer"];
    pub(crate) static HEARTBEAT = "heartbeat-1" in "consume", "allow-oom", ["shard", "record", "consume/lease"];
    pub(crate) static PROGRESS = "progress-1" in "consume", "allow-oom",
        ["shard", "record", "consume/lease", "place", "notes"];
    pub(crate) static REVOKE = "revoke-1" in "operate", "allow-oom",
        ["shard", "record", "consume/lease", "place", "end"];
    pub(crate) static RESCUE = "rescue-1" in "consume", "allow-oom",
        ["shard", "record", "consume/lease", "place", "end", "notes", "wake", "consume/silent"];
    pub(crate) static FORGET = "forget-1" in "operate", "allow-oom", ["shard", "record"];
    pub(crate) static DELETE = "delete-1" in "operate", "allow-oom", ["shard", "record", "place", "end"];
    pub(crate) static PURGE = "purge-1" in "operate", "allow-oom", ["shard", "record", "place", "end"];
    pub(crate) static RESUME = "resume-1" in "operate", "allow-oom", ["shard", "wake"];
    pub(crate) static CLOSE = "close-1" in "grow", "allow-oom", ["shard"];
    pub(crate) static SEND = "send-1" in "grow", "allow-oom", ["shard", "record", "place", "grow", "leaving"];
    pub(crate) static GONE = "gone-1" in "grow", "allow-oom", ["shard"];

    pub(crate) static JOB = "job-1" in "look", "no-writes", ["shard", "record", "place"];
    pub(crate) static HEADS = "heads-1" in "look", "no-writes", ["shard", "record", "place"];
    pub(crate) static LIST = "list-1" in "look", "no-writes", ["shard"];
    pub(crate) static PREVIEWS = "previews-1" in "look", "no-writes", ["shard", "record", "place", "preview"];
    pub(crate) static POSITION = "position-1" in "look", "no-writes", ["shard", "record", "place", "preview"];
    pub(crate) static TYPES = "types-1" from "types-1.lua", "no-writes", ["shard"];
    pub(crate) static STATS = "stats-1" in "look", "no-writes", ["shard", "wake"];
    pub(crate) static LEAVING = "leaving-1" in "grow", "no-writes", ["shard"];
}
