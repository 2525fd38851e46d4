//! The scripts, each composed of the shared parts that it uses and its own file.

use evenkeel_link::Script;

macro_rules! script {
    ($folder:literal / $name:literal, $flags:literal, [$($part:literal),+ $(,)?]) => {
        Script::with(
            $name,
            $flags,
            &[$(include_str!(concat!("../shared/", $part, ".lua"))),+],
            include_str!(concat!("../scripts/", $folder, "/", $name, ".lua")),
        )
    };
}

// Rejected as a whole by a Redis server that is out of memory, because they need memory.
pub(super) static OPEN: Script = script!("log" / "stream_open-1", "", ["log"]);
pub(super) static APPEND: Script = script!("log" / "stream_append-1", "", ["log", "producers"]);
pub(super) static REDRIVE: Script = script!("operate" / "stream_redrive-1", "", ["log", "group"]);

// Consumers must be able to settle and trim when Redis is out of memory.
pub(super) static JOIN: Script = script!("consume" / "stream_join-1", "allow-oom", ["log", "group"]);
pub(super) static ATTEND: Script = script!("consume" / "stream_attend-1", "allow-oom", ["log", "group"]);
pub(super) static LEAVE: Script = script!("consume" / "stream_leave-1", "allow-oom", ["log", "group"]);
pub(super) static TAKE_OVER: Script =
    script!("consume" / "stream_take_over-1", "allow-oom", ["log", "group", "delivery"]);
pub(super) static READ: Script =
    script!("consume" / "stream_read-1", "allow-oom", ["log", "group", "delivery", "read"]);
pub(super) static SETTLE: Script =
    script!("consume" / "stream_settle-1", "allow-oom", ["log", "group", "delivery", "outcome"]);
pub(super) static HEARTBEAT: Script = script!("consume" / "stream_beat-1", "allow-oom", ["log", "group", "delivery"]);
pub(super) static DISCARD: Script = script!("operate" / "stream_discard-1", "allow-oom", ["log", "group"]);
pub(super) static SEEK: Script = script!("operate" / "stream_seek-1", "allow-oom", ["log", "group"]);
pub(super) static PAUSE: Script = script!("operate" / "stream_pause-1", "allow-oom", ["log", "group"]);
pub(super) static TRIM: Script = script!("log" / "stream_trim-1", "allow-oom", ["log"]);
pub(super) static SWEEP: Script = script!("operate" / "stream_sweep-1", "allow-oom", ["log", "group"]);
pub(super) static STATS: Script =
    script!("operate" / "stream_stats-1", "no-writes", ["log", "group", "delivery", "read"]);

/// All scripts, to be loaded on every epoch.
pub const SCRIPTS: [&Script; 16] = [
    &OPEN, &APPEND, &REDRIVE, &JOIN, &ATTEND, &LEAVE, &TAKE_OVER, &READ, &SETTLE, &HEARTBEAT, &DISCARD, &SEEK, &PAUSE,
    &TRIM, &SWEEP, &STATS,
];
