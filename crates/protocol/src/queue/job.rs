//! Jobs: ids, what the sender requested, and the history so far.

use super::retry_delay::RetryDelay;
use bytes::Bytes;
use evenkeel_link::Token;
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU16, Ordering};

/// The maximum of a time or duration in ms: 47 bits, some 4,000 years. Records store times in six bytes.
pub const TIME_MS_MAX: u64 = (1 << 47) - 1;
/// The retention of [`Retention::UntilForgotten`] after a call of `forget`.
pub const FORGET_MS: u64 = 600_000;
/// The minimum retention of a revocation, so that a repeat returns the same result.
pub const REVOKE_MS_MIN: u64 = 600_000;
/// The maximum number of a job's errors that are stored; the newest are kept.
pub const ERRORS_KEPT_MAX: usize = 16;

/// The id of a job: 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub [u8; 16]);

impl JobId {
    /// A new id: six bytes of time, a counter of this process, 64 random bits. Ids of one process sort by the time of generation.
    #[must_use]
    pub fn generate(now_ms: u64) -> Self {
        static COUNTER: AtomicU16 = AtomicU16::new(0);
        let mut id = [0; 16];
        id[..6].copy_from_slice(&now_ms.to_be_bytes()[2..]);
        id[6..8].copy_from_slice(&COUNTER.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        id[8..].copy_from_slice(&rand::random::<[u8; 8]>());
        Self(id)
    }

    /// The id for a caller's own name of a job: a hash, so that the name cannot affect where the job is stored.
    #[must_use]
    pub fn named(name: &[u8]) -> Self {
        Self(half_of_sha256(b"id", name))
    }

    /// The id of a job that has a unique key but no name.
    #[must_use]
    pub fn of_unique_key(key: &[u8]) -> Self {
        Self(half_of_sha256(b"unique", key))
    }

    /// The index of the job's shard. It is derived from the last bytes, because the first bytes of a generated id are its time.
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
    /// The hash of the key `key`.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        Self(half_of_sha256(b"unique", key))
    }
}

/// The priority of a job. Within one priority the earliest due time is first; urgent jobs deliberately starve low ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Before all others.
    Urgent = 0,
    /// Before normal and low jobs.
    High = 1,
    /// The default.
    #[default]
    Normal = 2,
    /// Only if no other job is due.
    Low = 3,
}

impl Priority {
    /// All priorities, in the order of delivery.
    pub const ALL: [Priority; 4] = [Priority::Urgent, Priority::High, Priority::Normal, Priority::Low];
}

/// The number of attempts after a failed first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// This many, then the job is dead (or discarded). At most 65,534; higher values are reduced to it.
    Limited(u16),
    /// No limit: for jobs that must succeed.
    Unlimited,
}

impl From<u16> for Retries {
    fn from(retries: u16) -> Self {
        Self::Limited(retries)
    }
}

/// How long the completion record of a job is kept, so that a job with the same id is not run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Not at all: the id is not sent again.
    Nothing,
    /// For this long after its end, in ms.
    AfterEnd(u64),
    /// For this long after it was enqueued, in ms.
    FromEnqueue(u64),
    /// Until `forget` is called, and then for [`FORGET_MS`].
    UntilForgotten,
}

impl Retention {
    /// The number of the rule, and its window in ms: as stored, and as sent to the scripts.
    #[must_use]
    pub fn rule(self) -> (u8, u64) {
        match self {
            Self::Nothing => (0, 0),
            Self::AfterEnd(window) => (1, window),
            Self::FromEnqueue(window) => (2, window),
            Self::UntilForgotten => (3, FORGET_MS),
        }
    }

    /// The retention with this rule; `None`: the rule is unknown.
    #[must_use]
    pub fn of_rule(rule: u8, window_ms: u64) -> Option<Self> {
        Some(match rule {
            0 => Self::Nothing,
            1 => Self::AfterEnd(window_ms),
            2 => Self::FromEnqueue(window_ms),
            3 => Self::UntilForgotten,
            _ => return None,
        })
    }
}

/// What the sender requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    /// The priority.
    pub priority: Priority,
    /// The number of attempts after a failed first one.
    pub retries: Retries,
    /// Without retries left it is discarded instead of dead-lettered.
    pub discard_exhausted: bool,
    /// How long its completion record is kept.
    pub retention: Retention,
    /// If no attempt was started this many ms after its due time, it ends as expired.
    pub late_ms_max: Option<u64>,
    /// A unique key in addition to its id.
    pub unique: Option<Unique>,
    /// The version of a `put`.
    pub version: Option<u64>,
    /// The encoded message.
    pub body: Bytes,
    /// The codec of the body ([`Codec::id`](crate::codec::Codec::id)); `None` in records of older programs.
    pub codec: Option<u8>,
    /// Metadata of the job.
    pub notes: Vec<Note>,
}

impl JobSpec {
    /// A job with the defaults: normal priority, five retries, no completion record.
    #[must_use]
    pub fn new(body: Bytes) -> Self {
        Self {
            priority: Priority::Normal,
            retries: Retries::Limited(5),
            discard_exhausted: false,
            retention: Retention::Nothing,
            late_ms_max: None,
            unique: None,
            version: None,
            body,
            codec: None,
            notes: Vec::new(),
        }
    }
}

/// A unique key in addition to an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unique {
    /// The key.
    pub key: UniqueKey,
    /// The time for which it is held, from enqueueing, in ms.
    pub window_ms: u64,
}

/// A job with its history: the content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// What the sender requested, and the notes added since.
    pub spec: JobSpec,
    /// When it was accepted, in ms of the server's clock.
    pub enqueued_at: u64,
    /// When it ends as expired if it has not been started. `None`: it has no such limit, or an attempt has started since its due time was set.
    pub expires_at: Option<u64>,
    /// Attempts that failed or crashed since enqueueing or the last redrive.
    pub errors: u16,
    /// Consecutive crashes: leases that expired after it was reported as started.
    pub crashes: u8,
    /// Consecutive leases that expired before it was reported as started.
    pub lease_expiries: u8,
    /// Whether the current delivery was reported as started.
    pub started: bool,
    /// Whether the lease of at least one delivery has expired, so that an unresponsive worker may still run it.
    pub lease_expired: bool,
    /// Whether a suspect runs in the same process as the current delivery: an expiry of its lease is then not a crash.
    pub shielded: bool,
    /// Whether the current delivery is the only suspect of its worker; or the latest was, and crashed.
    pub alone: bool,
    /// The fencing token of the latest delivery; 0 before the first.
    pub fence: u64,
    /// The token of the current delivery, while it is leased.
    pub token: Option<Token>,
}

impl Job {
    /// A job that was accepted at `now` and is due at `due`.
    #[must_use]
    pub fn accepted(mut spec: JobSpec, now: u64, due: u64) -> Self {
        if let Retries::Limited(retries) = &mut spec.retries {
            // The highest number of a record means without a limit.
            *retries = (*retries).min(u16::MAX - 1);
        }
        Self {
            expires_at: spec.late_ms_max.map(|late| due + late),
            spec,
            enqueued_at: now,
            errors: 0,
            crashes: 0,
            lease_expiries: 0,
            started: false,
            lease_expired: false,
            shielded: false,
            alone: false,
            fence: 0,
            token: None,
        }
    }

    /// How strongly the job is suspected of crashing its worker: its consecutive crashes, plus one for two consecutive expired leases. The
    /// higher this is, the fewer such jobs a process runs at once.
    #[must_use]
    pub fn suspicion(&self) -> u16 {
        u16::from(self.crashes) + u16::from(self.lease_expiries > 1)
    }

    /// Whether it crashed, or its lease expired twice in a row.
    #[must_use]
    pub fn is_suspect(&self) -> bool {
        self.suspicion() > 0
    }

    /// The stored errors, oldest first.
    pub fn error_notes(&self) -> impl Iterator<Item = &ErrorNote> {
        self.spec.notes.iter().filter_map(|note| if let Note::Error(error) = note { Some(error) } else { None })
    }
}

/// Metadata of a job next to its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A failed attempt.
    Error(ErrorNote),
    /// The sender's trace context (W3C `traceparent`).
    Trace(Bytes),
    /// The sender's headers, encoded.
    Headers(Bytes),
    /// The caller's own name for the job.
    Name(Bytes),
    /// The progress that its handler last reported.
    Progress(Bytes),
    /// Its own retry delay, instead of its queue's.
    RetryDelay(RetryDelay),
    /// It was dead and was redriven.
    Redriven {
        /// The id of the redrive.
        redrive: [u8; 16],
        /// The time of the redrive.
        at: u64,
        /// The number of its errors before the redrive.
        errors: u16,
    },
}

/// A failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorNote {
    /// When it was settled or rescued.
    pub at: u64,
    /// How it failed.
    pub class: ErrorClass,
    /// The number of the error, counted from 1 since enqueueing or the last redrive (0 for an expired lease, which uses no attempt).
    pub attempt: u16,
    /// The handler's message.
    pub text: Bytes,
}

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The handler returned an error.
    Failed = 1,
    /// Its lease expired after it was reported as started.
    Crashed = 2,
    /// Its lease expired before it was reported as started.
    LeaseExpired = 3,
    /// The handler returned a permanent error.
    Dead = 4,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A handler completed it.
    Done = 1,
    /// It was not started within its permitted lateness.
    Expired = 2,
    /// It had no retries left and was not to be dead-lettered.
    Discarded = 3,
    /// An operator deleted it.
    Deleted = 4,
    /// It was revoked before it started (again).
    Revoked = 5,
    /// It was revoked after its lease had expired, so a worker may have begun to run it.
    RevokedAfterLeaseExpiry = 6,
}

impl End {
    /// The end with this code, as in scripts and completion records.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::Done,
            2 => Self::Expired,
            3 => Self::Discarded,
            4 => Self::Deleted,
            5 => Self::Revoked,
            6 => Self::RevokedAfterLeaseExpiry,
            _ => return None,
        })
    }
}

/// The completion record of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletionRecord {
    /// How it ended.
    pub end: End,
    /// When the completion record expires; `None` before `forget`.
    pub until: Option<u64>,
    /// The version of the `put` that created or ended the job; 0 without one.
    pub version: u64,
    /// When it ended.
    pub ended_at: u64,
}
