//! The format of an entry: a header of 48 bytes, optional blocks, then the payload.
//!
//! ```text
//!  0 format      1   0xF8 + 1; bytes from 0xF8 up never occur in text, so a foreign value is distinguished from an entry
//!  1 flags       1   1 value · 2 row absent · 4 stale · 8 see below · 16 versioned · 32 lease · 64 floors · 128 windows
//!  2 codec       1   of the payload
//!  3 compression 1   of the payload
//!  4 schema      4   fingerprint of the value's schema
//!  8 generation  8   random; a fill must present the one its lease saw
//! 16 granted     4   ordinals used, by leases and by invalidations; they begin at the time of creation, modulo 2^31 ms
//! 20 filled      4   the last of them that was stored or invalidated; fills with earlier ones are rejected
//! 24 loaded_at   6   time of that lease
//! 30 soft_until  6   after this a refresh is due
//! 36 hard_until  6   after this the value may not be served
//! 42 ends_at     6   after this the entry counts as absent; the key expires in Redis at the same time
//! 48 lease      28   token 16 (zero: none, the last load failed), granted at 6, until 6        if flag 32
//!    floors     16   floor 8, version of the value 8                                          if flag 64
//!    windows   13+   invalidated_at 6, suspect_until 6, count 1; each: token 16, until 6, suspect_until 6   if flag 128
//!    payload         the rest
//! ```
//!
//! Flag 8 is set with `invalidated_at`, and ignored here: for programs of the version before it means that loads must read the primary.
//!
//! Numbers are big-endian; times are milliseconds since 1970 on the store's clock. `header.lua` reads and writes
//! the same layout: change both together, and change the format byte.

use super::steps::{Generation, WINDOWS_MAX};
use bytes::{BufMut, Bytes, BytesMut};
use evenkeel_link::Token;

/// The length of the part that every entry has.
pub const HEADER_LEN: usize = 48;

const FORMAT_BASE: u8 = 0xF8;
const FORMAT: u8 = FORMAT_BASE + 1;
/// The latest time that a header can represent (year 10889).
const TIME_MS_MAX: u64 = (1 << 48) - 1;

mod flag {
    pub(crate) const VALUE: u8 = 1;
    pub(crate) const ABSENT: u8 = 2;
    pub(crate) const STALE: u8 = 4;
    pub(crate) const LEGACY_COLD: u8 = 8;
    pub(crate) const VERSIONED: u8 = 16;
    pub(crate) const LEASE: u8 = 32;
    pub(crate) const FLOORS: u8 = 64;
    pub(crate) const WINDOWS: u8 = 128;
}

/// Why bytes cannot be decoded as an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Not an entry, or truncated. A lease overwrites it.
    #[error("these bytes are not a cache entry")]
    Corrupt,
    /// Written by a newer version of Evenkeel. Load without storing; an invalidation deletes it.
    #[error("this cache entry has a newer format")]
    NewerFormat,
}

/// What a reader may do with an entry at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Serve it.
    Hit,
    /// Serve it, and request a lease with [`Why::Refresh`](super::steps::Why::Refresh).
    Due,
    /// It was invalidated: only for readers that accept stale values. Request a lease with [`Why::Stale`](super::steps::Why::Stale).
    Stale,
    /// There is no value to serve. Request a lease with [`Why::Miss`](super::steps::Why::Miss).
    Miss,
}

/// The properties of the stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// The time of the lease under which it was loaded: the database was read after this.
    pub loaded_at_ms: u64,
    /// After this a refresh is due.
    pub soft_until_ms: u64,
    /// After this it may not be served.
    pub hard_until_ms: u64,
    /// The row's version, if the loader returned one.
    pub version: Option<u64>,
    /// The row does not exist; the payload is empty.
    pub absent: bool,
    /// Whether it was invalidated since it was stored.
    pub stale: bool,
    /// The codec of the payload.
    pub codec: u8,
    /// The compression of the payload.
    pub compression: u8,
}

/// The current lease; or, without a token, the delay after a failed load during which no lease is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseBlock {
    /// The loader's token, or `None` after a failed load.
    pub token: Option<Token>,
    /// When the lease was granted.
    pub at_ms: u64,
    /// When the lease expires.
    pub until_ms: u64,
}

/// One writer's update window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The writer's token.
    pub token: Token,
    /// When it expires.
    pub until_ms: u64,
    /// The latest time at which the writer's transaction may still commit if the window expires.
    pub suspect_until_ms: u64,
}

/// An entry without its payload. The default has no value, no lease and no window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Fingerprint of the value's schema.
    pub schema: u32,
    /// Changes with every creation and every invalidation.
    pub generation: Generation,
    /// Ordinals used: each lease and each invalidation takes the next one. They begin at the time of creation.
    pub granted: u32,
    /// The last ordinal whose value was stored, or which an invalidation took. A fill with an earlier one is rejected.
    pub filled: u32,
    /// When the entry ends; after this it counts as absent.
    pub ends_at_ms: u64,
    /// The stored value, if there is one.
    pub value: Option<Value>,
    /// The current or last lease, if it was neither used nor ended by an invalidation.
    pub lease: Option<LeaseBlock>,
    /// The minimum version that may be stored; 0 if none is known.
    pub floor: u64,
    /// The row was last invalidated at this time or before; 0 if that is unknown. A replica has every invalidated write once its lag has
    /// passed since then.
    pub invalidated_at_ms: u64,
    /// Before this time a writer whose window has expired may still commit; 0 for none.
    pub suspect_until_ms: u64,
    /// Open update windows, in the order of their opening; at most [`WINDOWS_MAX`].
    pub windows: Vec<Window>,
}

/// A header and its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The header.
    pub header: Header,
    /// The encoded value; empty if there is none or the row is absent.
    pub payload: Bytes,
}

impl Entry {
    /// Decodes the bytes that `read` returned, without copying: the payload shares them.
    ///
    /// # Errors
    /// [`HeaderError`], which says how a reader handles it. Arbitrary bytes are accepted.
    pub fn parse(bytes: Bytes) -> Result<Self, HeaderError> {
        let (header, length) = Header::parse(&bytes)?;
        let mut payload = bytes;
        bytes::Buf::advance(&mut payload, length);
        Ok(Self { header, payload })
    }

    /// The encoded entry.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(HEADER_LEN + self.payload.len() + 28);
        self.header.write(&mut out);
        out.extend_from_slice(&self.payload);
        out.freeze()
    }
}

impl Header {
    /// What a reader may do with the entry at `now_ms` of the store's clock. An estimate of the time is sufficient, because the store
    /// checks every lease against its own time.
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

    /// Decodes the header; also returns its length, which is the offset of the payload.
    ///
    /// # Errors
    /// [`HeaderError`]. Arbitrary bytes are accepted.
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
        let (invalidated_at_ms, suspect_until_ms, windows) =
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
        Some(Self {
            schema,
            generation,
            granted,
            filled,
            ends_at_ms,
            value,
            lease,
            floor,
            invalidated_at_ms,
            suspect_until_ms,
            windows,
        })
    }

    /// Appends the encoded header. Encoding is deterministic.
    pub fn write(&self, out: &mut impl BufMut) {
        let value = self.value.as_ref();
        let version = value.and_then(|value| value.version);
        let has_floors = self.floor > 0 || version.is_some();
        let has_windows = self.invalidated_at_ms > 0 || self.suspect_until_ms > 0 || !self.windows.is_empty();
        let flags = [
            (value.is_some(), flag::VALUE),
            (value.is_some_and(|value| value.absent), flag::ABSENT),
            (value.is_some_and(|value| value.stale), flag::STALE),
            (self.invalidated_at_ms > 0, flag::LEGACY_COLD),
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
        put_time(out, self.invalidated_at_ms);
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

/// Reads bytes from the front; `None` if there are too few.
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
        let (invalidated_at_ms, suspect_until_ms) = (self.time()?, self.time()?);
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
        Some((invalidated_at_ms, suspect_until_ms, windows))
    }
}
