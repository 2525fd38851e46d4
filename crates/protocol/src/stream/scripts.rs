//! The scripts, each composed of the shared parts that it uses and its own file.

scripts! {
    /// All scripts, to be loaded on every epoch.
    pub const SCRIPTS in "", "steps/";
    library "stream" of ["log", "producers", "group", "delivery", "outcome", "read"];

    // Rejected as a whole by a Redis server that is out of memory, because they need memory.
    pub(crate) static OPEN = "stream_open-1" in "log", "", ["log"];
    pub(crate) static APPEND = "stream_append-1" in "log", "", ["log", "producers"];
    pub(crate) static REDRIVE = "stream_redrive-1" in "operate", "", ["log", "group"];

    // Consumers must be able to settle and trim when Redis is out of memory.
    pub(crate) static JOIN = "stream_join-1" in "consume", "allow-oom", ["log", "group"];
    pub(crate) static ATTEND = "stream_attend-1" in "consume", "allow-oom", ["log", "group"];
    pub(crate) static LEAVE = "stream_leave-1" in "consume", "allow-oom", ["log", "group"];
    pub(crate) static TAKE_OVER = "stream_take_over-1" in "consume", "allow-oom", ["log", "group", "delivery"];
    pub(crate) static READ = "stream_read-1" in "consume", "allow-oom", ["log", "group", "delivery", "read"];
    pub(crate) static SETTLE = "stream_settle-1" in "consume", "allow-oom", ["log", "group", "delivery", "outcome"];
    pub(crate) static HEARTBEAT = "stream_heartbeat-1" in "consume", "allow-oom", ["log", "group", "delivery"];
    pub(crate) static DISCARD = "stream_discard-1" in "operate", "allow-oom", ["log", "group"];
    pub(crate) static SEEK = "stream_seek-1" in "operate", "allow-oom", ["log", "group"];
    pub(crate) static PAUSE = "stream_pause-1" in "operate", "allow-oom", ["log", "group"];
    pub(crate) static TRIM = "stream_trim-1" in "log", "allow-oom", ["log"];
    pub(crate) static SWEEP = "stream_sweep-1" in "operate", "allow-oom", ["log", "group"];
    pub(crate) static PAGE = "stream_page-1" in "log", "no-writes", ["log"];
    pub(crate) static TYPES = "stream_types-1" from "stream_types-1.lua", "no-writes", ["log", "group"];
    pub(crate) static STATS = "stream_stats-1" in "operate", "no-writes", ["log", "group", "delivery", "read"];
}
