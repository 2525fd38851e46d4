//! What one entry looks like: 48 bytes that every entry has, blocks that disappear when idle, then the payload.
//!
//! ```text
//!  0 format      1   0xF8 + 1; bytes from 0xF8 up never occur in text, so a foreign value is told from an entry
//!  1 flags       1   1 value · 2 row absent · 4 stale · 8 cold · 16 versioned · 32 lease · 64 floors · 128 windows
//!  2 codec       1   of the payload
//!  3 compression 1   of the payload
//!  4 schema      4   fingerprint of the value's schema
//!  8 generation  8   random; a fill must bring the one its lease saw
//! 16 granted     4   ordinals used up, by leases and by invalidations; they begin at the time of creation, modulo 2^31 ms
//! 20 filled      4   the last of them that was stored or ended; earlier ones are refused
//! 24 loaded_at   6   time of that lease
//! 30 soft_until  6   from here on a refresh is due
//! 36 hard_until  6   from here on the value may not be served
//! 42 ends_at     6   from here on the entry counts as gone; the key's expiry in Redis is the same moment
//! 48 lease      28   token 16 (zero: none, the last load failed), granted at 6, until 6        if flag 32
//!    floors     16   floor 8, version of the value 8                                          if flag 64
//!    windows   13+   guard_until 6, suspect_until 6, count 1; each: token 16, until 6, suspect_until 6   if flag 128
//!    payload         the rest
//! ```
//!
//! Numbers are big-endian; times are milliseconds since 1970 on the store's clock. `scripts/header.lua` reads and writes
//! the same layout: change both together, and the format byte with them.

use super::steps::{Generation, WINDOWS_MAX};
use bytes::{BufMut, Bytes, BytesMut};
use evenkeel_link::Token;

/// Bytes that every entry has.
pub const HEADER_LEN: usize = 48;

const FORMAT_BASE: u8 = 0xF8;
const FORMAT: u8 = FORMAT_BASE + 1;
/// The largest point in time a header can hold (year 10889).
const TIME_MS_MAX: u64 = (1 << 48) - 1;

mod flag {
    pub(crate) const VALUE: u8 = 1;
    pub(crate) const ABSENT: u8 = 2;
    pub(crate) const STALE: u8 = 4;
    pub(crate) const COLD: u8 = 8;
    pub(crate) const VERSIONED: u8 = 16;
    pub(crate) const LEASE: u8 = 32;
    pub(crate) const FLOORS: u8 = 64;
    pub(crate) const WINDOWS: u8 = 128;
}

/// Why bytes are not an entry that this program understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Not an entry, or cut short. A lease overwrites it.
    #[error("these bytes are not a cache entry")]
    Corrupt,
    /// Written by a newer Evenkeel. Load without storing; an invalidation deletes it.
    #[error("this cache entry is written in a newer format")]
    NewerFormat,
}

/// What a reader may do with an entry at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Serve it.
    Hit,
    /// Serve it, and ask for a lease with [`Why::Refresh`](super::steps::Why::Refresh).
    Due,
    /// It was invalidated: only a reader that accepts stale values may have it. Lease with [`Why::Stale`](super::steps::Why::Stale).
    Stale,
    /// There is nothing to serve. Lease with [`Why::Miss`](super::steps::Why::Miss).
    Miss,
}

/// What is known about the stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Time of the lease under which it was loaded: the database was read after this.
    pub loaded_at_ms: u64,
    /// From here on a refresh is due.
    pub soft_until_ms: u64,
    /// From here on it may not be served.
    pub hard_until_ms: u64,
    /// The row's version, if the loader knew it.
    pub version: Option<u64>,
    /// The row does not exist; the payload is empty.
    pub absent: bool,
    /// Invalidated since it was stored.
    pub stale: bool,
    /// Which codec made the payload.
    pub codec: u8,
    /// How the payload is compressed.
    pub compression: u8,
}

/// Who may load, or (without a token) until when nobody may because the last load failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseBlock {
    /// The loader, or `None` after a failed load.
    pub token: Option<Token>,
    /// When it was granted.
    pub at_ms: u64,
    /// When it lapses.
    pub until_ms: u64,
}

/// One writer's update window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The writer.
    pub token: Token,
    /// When it lapses.
    pub until_ms: u64,
    /// Until when the writer's transaction may still commit, should the window lapse.
    pub suspect_until_ms: u64,
}

/// Everything in an entry but the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Fingerprint of the value's schema.
    pub schema: u32,
    /// Changes with every creation and every invalidation.
    pub generation: Generation,
    /// Ordinals used up: each lease gets the next one, and each invalidation takes one. They begin at the time of creation.
    pub granted: u32,
    /// The last ordinal whose value was stored, or which an invalidation ended. A fill with an earlier one is refused.
    pub filled: u32,
    /// The entry counts as gone from here on.
    pub ends_at_ms: u64,
    /// The stored value, if there is one.
    pub value: Option<Value>,
    /// The current or last lease, if it was neither used nor ended by an invalidation.
    pub lease: Option<LeaseBlock>,
    /// No older version may be stored; 0 for none known.
    pub floor: u64,
    /// The floor was forgotten (the entry was created anew), so a replica's answer cannot be vouched for.
    pub cold: bool,
    /// Until here loads must read the primary; 0 for no such time.
    pub guard_until_ms: u64,
    /// Until here a lapsed writer may still commit; 0 for no such time.
    pub suspect_until_ms: u64,
    /// Open update windows, in the order they were opened; at most [`WINDOWS_MAX`].
    pub windows: Vec<Window>,
}

/// A header and its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Everything but the payload.
    pub header: Header,
    /// The encoded value; empty if there is none or the row is absent.
    pub payload: Bytes,
}

impl Entry {
    /// Understands what `read` returned. Nothing is copied: the payload shares the bytes.
    ///
    /// # Errors
    /// [`HeaderError`], which says what a reader does about it. Any bytes may be handed in.
    pub fn parse(bytes: Bytes) -> Result<Self, HeaderError> {
        let (header, length) = Header::parse(&bytes)?;
        let mut payload = bytes;
        bytes::Buf::advance(&mut payload, length);
        Ok(Self { header, payload })
    }

    /// The bytes that a store keeps.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(HEADER_LEN + self.payload.len() + 28);
        self.header.write(&mut out);
        out.extend_from_slice(&self.payload);
        out.freeze()
    }
}

impl Header {
    /// What a reader may do with the entry at `now_ms` of the store's clock. An estimate is good enough: every lease is
    /// judged again by the store's own time.
    #[must_use]
    pub fn verdict(&self, now_ms: u64) -> Verdict {
        match &self.value {
            Some(value) if now_ms < value.hard_until_ms.min(self.ends_at_ms) => {
                if value.stale {
                    Verdict::Stale
                } else if now_ms >= value.soft_until_ms {
                    Verdict::Due
                } else {
                    Verdict::Hit
                }
            }
            _ => Verdict::Miss,
        }
    }

    /// Understands the beginning of an entry; also tells how long it is, that is, where the payload begins.
    ///
    /// # Errors
    /// [`HeaderError`]. Any bytes may be handed in.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), HeaderError> {
        match bytes.first() {
            Some(&FORMAT) => {}
            Some(&newer) if newer > FORMAT => return Err(HeaderError::NewerFormat),
            _ => return Err(HeaderError::Corrupt),
        }
        let mut reader = Reader { rest: bytes };
        Self::parse_known(&mut reader)
            .map(|header| (header, bytes.len() - reader.rest.len()))
            .ok_or(HeaderError::Corrupt)
    }

    fn parse_known(reader: &mut Reader<'_>) -> Option<Self> {
        let [_format, flags, codec, compression] = reader.take()?;
        let has = |flag: u8| flags & flag != 0;
        let schema = u32::from_be_bytes(reader.take()?);
        let generation = Generation(reader.take()?);
        let granted = u32::from_be_bytes(reader.take()?);
        let filled = u32::from_be_bytes(reader.take()?);
        let [loaded_at_ms, soft_until_ms, hard_until_ms, ends_at_ms] =
            [reader.time()?, reader.time()?, reader.time()?, reader.time()?];
        let lease = if has(flag::LEASE) { Some(reader.lease()?) } else { None };
        let (floor, version) = if has(flag::FLOORS) {
            (u64::from_be_bytes(reader.take()?), u64::from_be_bytes(reader.take()?))
        } else {
            (0, 0)
        };
        let (guard_until_ms, suspect_until_ms, windows) =
            if has(flag::WINDOWS) { reader.windows()? } else { (0, 0, Vec::new()) };
        let value = has(flag::VALUE).then_some(Value {
            loaded_at_ms,
            soft_until_ms,
            hard_until_ms,
            version: has(flag::VERSIONED).then_some(version),
            absent: has(flag::ABSENT),
            stale: has(flag::STALE),
            codec,
            compression,
        });
        let cold = has(flag::COLD);
        Some(Self {
            schema,
            generation,
            granted,
            filled,
            ends_at_ms,
            value,
            lease,
            floor,
            cold,
            guard_until_ms,
            suspect_until_ms,
            windows,
        })
    }

    /// Appends the header's bytes. The same header always gives the same bytes.
    pub fn write(&self, out: &mut impl BufMut) {
        let value = self.value.as_ref();
        let version = value.and_then(|value| value.version);
        let has_floors = self.floor > 0 || version.is_some();
        let has_windows = self.guard_until_ms > 0 || self.suspect_until_ms > 0 || !self.windows.is_empty();
        let flags = [
            (value.is_some(), flag::VALUE),
            (value.is_some_and(|value| value.absent), flag::ABSENT),
            (value.is_some_and(|value| value.stale), flag::STALE),
            (self.cold, flag::COLD),
            (version.is_some(), flag::VERSIONED),
            (self.lease.is_some(), flag::LEASE),
            (has_floors, flag::FLOORS),
            (has_windows, flag::WINDOWS),
        ];
        let flags = flags.iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag);
        out.put_slice(&[
            FORMAT,
            flags,
            value.map_or(0, |value| value.codec),
            value.map_or(0, |value| value.compression),
        ]);
        out.put_u32(self.schema);
        out.put_slice(&self.generation.0);
        out.put_u32(self.granted);
        out.put_u32(self.filled);
        put_time(out, value.map_or(0, |value| value.loaded_at_ms));
        put_time(out, value.map_or(0, |value| value.soft_until_ms));
        put_time(out, value.map_or(0, |value| value.hard_until_ms));
        put_time(out, self.ends_at_ms);
        if let Some(lease) = &self.lease {
            out.put_slice(lease.token.as_ref().map_or([0; 16].as_slice(), |token| token.as_bytes()));
            put_time(out, lease.at_ms);
            put_time(out, lease.until_ms);
        }
        if has_floors {
            out.put_u64(self.floor);
            out.put_u64(version.unwrap_or(0));
        }
        if has_windows {
            self.write_windows(out);
        }
    }

    fn write_windows(&self, out: &mut impl BufMut) {
        put_time(out, self.guard_until_ms);
        put_time(out, self.suspect_until_ms);
        let windows = self.windows.get(..WINDOWS_MAX).unwrap_or(&self.windows);
        out.put_u8(u8::try_from(windows.len()).unwrap_or(u8::MAX));
        for window in windows {
            out.put_slice(window.token.as_bytes());
            put_time(out, window.until_ms);
            put_time(out, window.suspect_until_ms);
        }
    }
}

fn put_time(out: &mut impl BufMut, time_ms: u64) {
    out.put_uint(time_ms.min(TIME_MS_MAX), 6);
}

/// Takes bytes from the front; `None` when they run out.
struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (front, rest) = self.rest.split_first_chunk::<LENGTH>()?;
        self.rest = rest;
        Some(*front)
    }

    fn time(&mut self) -> Option<u64> {
        let [a, b, c, d, e, f] = self.take()?;
        Some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    fn lease(&mut self) -> Option<LeaseBlock> {
        let token: [u8; 16] = self.take()?;
        let token = (token != [0; 16]).then(|| Token::from(token));
        Some(LeaseBlock { token, at_ms: self.time()?, until_ms: self.time()? })
    }

    fn windows(&mut self) -> Option<(u64, u64, Vec<Window>)> {
        let (guard_until_ms, suspect_until_ms) = (self.time()?, self.time()?);
        let [count] = self.take()?;
        if usize::from(count) > WINDOWS_MAX {
            return None;
        }
        let windows = (0..count)
            .map(|_| {
                let token: [u8; 16] = self.take()?;
                Some(Window { token: Token::from(token), until_ms: self.time()?, suspect_until_ms: self.time()? })
            })
            .collect::<Option<_>>()?;
        Some((guard_until_ms, suspect_until_ms, windows))
    }
}
