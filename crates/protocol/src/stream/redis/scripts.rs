//! The scripts, each composed of the shared parts that it uses and its own file.

use evenkeel_link::Script;

macro_rules! script {
    ($name:literal, $flags:literal, [$($part:literal),+ $(,)?]) => {
        Script::with(
            $name,
            $flags,
            &[$(include_str!(concat!("../shared/", $part, ".lua"))),+],
            include_str!(concat!("../scripts/", $name, ".lua")),
        )
    };
}

// Rejected as a whole by a Redis server that is out of memory, because they need memory.
pub(super) static OPEN: Script = script!("stream_open-1", "", ["log"]);
pub(super) static APPEND: Script = script!("stream_append-1", "", ["log"]);
pub(super) static REDRIVE: Script = script!("stream_redrive-1", "", ["log", "group"]);

// Consumers must be able to settle and trim when Redis is out of memory.
pub(super) static JOIN: Script = script!("stream_join-1", "allow-oom", ["log", "group"]);
pub(super) static ATTEND: Script = script!("stream_attend-1", "allow-oom", ["log", "group"]);
pub(super) static LEAVE: Script = script!("stream_leave-1", "allow-oom", ["log", "group"]);
pub(super) static TAKE_OVER: Script = script!("stream_take_over-1", "allow-oom", ["log", "group", "delivery"]);
pub(super) static READ: Script = script!("stream_read-1", "allow-oom", ["log", "group", "delivery", "read"]);
pub(super) static SETTLE: Script = script!("stream_settle-1", "allow-oom", ["log", "group", "delivery"]);
pub(super) static HEARTBEAT: Script = script!("stream_beat-1", "allow-oom", ["log", "group", "delivery"]);
pub(super) static DISCARD: Script = script!("stream_discard-1", "allow-oom", ["log", "group"]);
pub(super) static SEEK: Script = script!("stream_seek-1", "allow-oom", ["log", "group"]);
pub(super) static PAUSE: Script = script!("stream_pause-1", "allow-oom", ["log", "group"]);
pub(super) static TRIM: Script = script!("stream_trim-1", "allow-oom", ["log"]);
pub(super) static SWEEP: Script = script!("stream_sweep-1", "allow-oom", ["log", "group"]);
pub(super) static STATS: Script = script!("stream_stats-1", "no-writes", ["log", "group", "delivery", "read"]);

/// All scripts, to be loaded on every epoch.
pub const SCRIPTS: [&Script; 16] = [
    &OPEN, &APPEND, &REDRIVE, &JOIN, &ATTEND, &LEAVE, &TAKE_OVER, &READ, &SETTLE, &HEARTBEAT, &DISCARD, &SEEK, &PAUSE,
    &TRIM, &SWEEP, &STATS,
];
