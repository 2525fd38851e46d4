//! The scripts, each composed of the shared parts that it uses and its own file.

scripts! {
    /// All scripts, to be loaded on every epoch.
    pub const SCRIPTS in "../", "scripts/";
    library "stream" of ["log", "producers", "group", "delivery", "outcome", "read"];

    // Rejected as a whole by a Redis server that is out of memory, because they need memory.
    pub(super) static OPEN = "stream_open-1" in "log", "", ["log"];
    pub(super) static APPEND = "stream_append-1" in "log", "", ["log", "producers"];
    pub(super) static REDRIVE = "stream_redrive-1" in "operate", "", ["log", "group"];

    // Consumers must be able to settle and trim when Redis is out of memory.
    pub(super) static JOIN = "stream_join-1" in "consume", "allow-oom", ["log", "group"];
    pub(super) static ATTEND = "stream_attend-1" in "consume", "allow-oom", ["log", "group"];
    pub(super) static LEAVE = "stream_leave-1" in "consume", "allow-oom", ["log", "group"];
    pub(super) static TAKE_OVER = "stream_take_over-1" in "consume", "allow-oom", ["log", "group", "delivery"];
    pub(super) static READ = "stream_read-1" in "consume", "allow-oom", ["log", "group", "delivery", "read"];
    pub(super) static SETTLE = "stream_settle-1" in "consume", "allow-oom", ["log", "group", "delivery", "outcome"];
    pub(super) static HEARTBEAT = "stream_heartbeat-1" in "consume", "allow-oom", ["log", "group", "delivery"];
    pub(super) static DISCARD = "stream_discard-1" in "operate", "allow-oom", ["log", "group"];
    pub(super) static SEEK = "stream_seek-1" in "operate", "allow-oom", ["log", "group"];
    pub(super) static PAUSE = "stream_pause-1" in "operate", "allow-oom", ["log", "group"];
    pub(super) static TRIM = "stream_trim-1" in "log", "allow-oom", ["log"];
    pub(super) static SWEEP = "stream_sweep-1" in "operate", "allow-oom", ["log", "group"];
    pub(super) static PAGE = "stream_page-1" in "operate", "no-writes", ["log"];
    pub(super) static TYPES = "stream_types-1" in "operate", "no-writes", ["log", "group"];
    pub(super) static STATS = "stream_stats-1" in "operate", "no-writes", ["log", "group", "delivery", "read"];
}
