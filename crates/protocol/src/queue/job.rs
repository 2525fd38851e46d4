//! What a job is: its name, what its sender asked for, and what has happened to it so far.

use super::retry_delay::RetryDelay;
use bytes::Bytes;
use evenkeel_link::Token;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU16, Ordering};

/// The longest a time or a span may be, in ms: 47 bits, some 4,000 years. Records keep times in six bytes.
pub const TIME_MS_MAX: u64 = (1 << 47) - 1;
/// What [`Keep::UntilForgotten`] becomes once `forget` was called.
pub const FORGET_MS: u64 = 600_000;
/// A revocation is remembered at least this long, so that repeating it gives the same answer.
pub const REVOKE_MS_MIN: u64 = 600_000;
/// Of a job's errors the newest this many are kept.
pub const ERRORS_KEPT_MAX: usize = 16;

/// The name of a job: 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub [u8; 16]);

impl JobId {
    /// A new id: six bytes of time, a counter of this process, 64 random bits. Ids of one process sort in the order they were made.
    #[must_use]
    pub fn generate(now_ms: u64) -> Self {
        static COUNTER: AtomicU16 = AtomicU16::new(0);
        let mut id = [0; 16];
        id[..6].copy_from_slice(&now_ms.to_be_bytes()[2..]);
        id[6..8].copy_from_slice(&COUNTER.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        id[8..].copy_from_slice(&rand::random::<[u8; 8]>());
        Self(id)
    }

    /// The id of a caller's own name for a job: its hash, so nothing in the name can change where the job is kept.
    #[must_use]
    pub fn named(name: &[u8]) -> Self {
        Self(half_of_sha256(b"id", name))
    }

    /// The id of a job that has a unique key but no name.
    #[must_use]
    pub fn of_unique_key(key: &[u8]) -> Self {
        Self(half_of_sha256(b"unique", key))
    }

    /// Which of `shards` keeps the job. Ids are routed by their last bytes: the first ones of a generated id are its time.
    #[must_use]
    pub fn shard(&self, shards: u16) -> u16 {
        let tail = u16::from_be_bytes([self.0[14], self.0[15]]);
        tail % shards.max(1)
    }
}

fn half_of_sha256(kind: &[u8], text: &[u8]) -> [u8; 16] {
    let digest = Sha256::new().chain_update(kind).chain_update([0]).chain_update(text).finalize();
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    half
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not a job id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job id is 32 hexadecimal digits")]
pub struct NotAnId;

impl FromStr for JobId {
    type Err = NotAnId;
    fn from_str(text: &str) -> Result<Self, NotAnId> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotAnId);
        }
        u128::from_str_radix(text, 16).map(|number| Self(number.to_be_bytes())).map_err(|_| NotAnId)
    }
}

/// A caller's unique key, hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UniqueKey(pub [u8; 16]);

impl UniqueKey {
    /// The key a caller named.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        Self(half_of_sha256(b"unique", key))
    }
}

/// Which jobs go first. Within one priority the earliest due time goes first; urgent work starves low work on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Before everything else.
    Urgent = 0,
    /// Before the rest.
    High = 1,
    /// What is not said otherwise.
    #[default]
    Normal = 2,
    /// When nothing else is due.
    Low = 3,
}

impl Priority {
    /// All of them, the first to go first.
    pub const ALL: [Priority; 4] = [Priority::Urgent, Priority::High, Priority::Normal, Priority::Low];
}

/// How many attempts follow a failed first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// This many, then the job is dead (or discarded). At most 65,534; more is taken for that.
    Limited(u16),
    /// As many as it takes: for work that must succeed.
    Unlimited,
}

impl From<u16> for Retries {
    fn from(retries: u16) -> Self {
        Self::Limited(retries)
    }
}

/// For how long an ended job is remembered, so that sending it again does not run it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Not at all: nobody sends this id again.
    Nothing,
    /// For this long after its end, in ms.
    AfterEnd(u64),
    /// For this long after it was enqueued, in ms.
    FromEnqueue(u64),
    /// Until `forget`, which leaves it [`FORGET_MS`].
    UntilForgotten,
}

/// What the sender asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// Which jobs go first.
    pub priority: Priority,
    /// How many attempts follow a failed first one.
    pub retries: Retries,
    /// Out of retries it is counted and gone, instead of dead.
    pub discard_exhausted: bool,
    /// How long its end is remembered.
    pub keep: Keep,
    /// Not started this many ms after its due time, it ends as expired.
    pub late_ms_max: Option<u64>,
    /// Taken beside an id of its own, for this many ms from enqueueing.
    pub unique: Option<Unique>,
    /// The version of a `put`.
    pub version: Option<u64>,
    /// The encoded message.
    pub body: Bytes,
    /// The codec that wrote it ([`Codec::id`](crate::codec::Codec::id)); `None` in records of older programs.
    pub codec: Option<u8>,
    /// What travels beside the body.
    pub notes: Vec<Note>,
}

impl JobSpec {
    /// A plain job: normal priority, five retries, nothing remembered.
    #[must_use]
    pub fn new(body: Bytes) -> Self {
        Self {
            priority: Priority::Normal,
            retries: Retries::Limited(5),
            discard_exhausted: false,
            keep: Keep::Nothing,
            late_ms_max: None,
            unique: None,
            version: None,
            body,
            codec: None,
            notes: Vec::new(),
        }
    }
}

/// A unique key beside an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unique {
    /// The key.
    pub key: UniqueKey,
    /// Held for this long from enqueueing.
    pub window_ms: u64,
}

/// A job with all that has happened to it: what a record holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// What the sender asked for, and the notes made since.
    pub spec: JobSpec,
    /// When it was accepted, in ms of the server's clock.
    pub enqueued_at: u64,
    /// When it ends as expired if it has not been started.
    pub expires_at: Option<u64>,
    /// Attempts that failed or crashed since enqueueing or the last redrive.
    pub errors: u16,
    /// Crashes in a row: lapses after it was reported as started.
    pub crashes: u8,
    /// Lapses in a row before it was reported as started.
    pub lapses: u8,
    /// The current delivery was reported as started.
    pub started: bool,
    /// At least one delivery lapsed, so a silent worker may still be at it.
    pub lapsed: bool,
    /// A suspect runs beside the current delivery: its lapse is no crash.
    pub shielded: bool,
    /// The current delivery is the only suspect of its worker; or the latest was, and crashed.
    pub alone: bool,
    /// The fence of the latest delivery; 0 before the first.
    pub fence: u64,
    /// The token of the current delivery, while it is leased.
    pub token: Option<Token>,
}

impl Job {
    /// A job that was accepted at `now` and is due at `due`.
    #[must_use]
    pub fn accepted(spec: JobSpec, now: u64, due: u64) -> Self {
        Self {
            expires_at: spec.late_ms_max.map(|late| due + late),
            spec,
            enqueued_at: now,
            errors: 0,
            crashes: 0,
            lapses: 0,
            started: false,
            lapsed: false,
            shielded: false,
            alone: false,
            fence: 0,
            token: None,
        }
    }

    /// How much it is suspected of killing its worker: its crashes in a row, and two lapses in a row count as one more. A process runs the
    /// fewer of them at once the higher that is.
    #[must_use]
    pub fn suspicion(&self) -> u16 {
        u16::from(self.crashes) + u16::from(self.lapses > 1)
    }

    /// Whether it crashed, or lapsed twice in a row.
    #[must_use]
    pub fn is_suspect(&self) -> bool {
        self.suspicion() > 0
    }

    /// The errors kept, oldest first.
    pub fn error_notes(&self) -> impl Iterator<Item = &ErrorNote> {
        self.spec.notes.iter().filter_map(|note| if let Note::Error(error) = note { Some(error) } else { None })
    }
}

/// Something that travels with a job beside its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// An attempt that went wrong.
    Error(ErrorNote),
    /// Where the sender's trace goes on (W3C `traceparent`).
    Trace(Bytes),
    /// The sender's headers, encoded.
    Headers(Bytes),
    /// The caller's own name for the job.
    Name(Bytes),
    /// How far its handler was when it last said so.
    Progress(Bytes),
    /// How long to wait between its attempts, instead of as long as its queue says.
    RetryDelay(RetryDelay),
    /// It was dead and was sent back.
    Redriven {
        /// By which redrive.
        redrive: [u8; 16],
        /// When.
        at: u64,
        /// Its errors until then.
        errors: u16,
    },
}

/// An attempt that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorNote {
    /// When it was settled or rescued.
    pub at: u64,
    /// What kind of end it was.
    pub class: ErrorClass,
    /// Which error of the job it was, counted from 1 since enqueueing or the last redrive (0 for a lapse, which uses no attempt).
    pub attempt: u16,
    /// The handler's words.
    pub text: Bytes,
}

/// How an attempt went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The handler said so.
    Failed = 1,
    /// Its worker fell silent after it was reported as started.
    Crashed = 2,
    /// Its worker fell silent before that.
    Lapsed = 3,
    /// The handler said it is no use to try again.
    Dead = 4,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A handler did it.
    Done = 1,
    /// It was found later than its lateness allows.
    Expired = 2,
    /// It ran out of retries and was not worth keeping.
    Discarded = 3,
    /// An operator deleted it.
    Deleted = 4,
    /// It was revoked before it started (again).
    Revoked = 5,
    /// It was revoked after a worker that may have begun had fallen silent.
    RevokedAfterLapse = 6,
}

impl End {
    /// The end with this number, as scripts and stamps write it.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Done,
            2 => Self::Expired,
            3 => Self::Discarded,
            4 => Self::Deleted,
            5 => Self::Revoked,
            6 => Self::RevokedAfterLapse,
            _ => return None,
        })
    }
}

/// What is left of an ended job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// How it ended.
    pub end: End,
    /// Until when it counts; `None` until `forget`.
    pub until: Option<u64>,
    /// The version of the `put` that made the job or ended it; 0 where there was none.
    pub version: u64,
    /// When it ended.
    pub ended_at: u64,
}
