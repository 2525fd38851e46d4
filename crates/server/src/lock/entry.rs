//! A lock that is in use, and its forms for output: a table row, text, JSON.

use crate::output::{foreign, printable, truncated};
use crate::time::span;
use anyhow::Result;
use evenkeel::lock::Holder;
use evenkeel::lock::{PERMITS_MAX, PoolHolder, PoolState};
use evenkeel::{Keel, Token};
use serde_json::{Value, json};
use web::from_hex;

/// Maximum width of the holders' metadata.
const METADATA_WIDTH: usize = 40;

/// The headings of [`Entry::row`].
pub(super) const HEADINGS: [&str; 7] = ["LOCK", "KIND", "FENCE", "STATE", "HELD FOR", "WAITING", "HOLDER"];

/// The kind of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// An exclusive lock
    Lock,
    /// A read/write lock
    Rw,
    /// A semaphore
    Semaphore,
}

/// A lock that is in use.
pub(super) enum Entry {
    Lock(Holder),
    Rw(PoolState),
    Semaphore(PoolState),
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Lock, Self::Rw, Self::Semaphore];

    /// The names of this kind that may be in use.
    pub(super) async fn names(self, keel: &Keel) -> Result<Vec<String>> {
        let names = match self {
            Self::Lock => keel.locks_held().await?,
            Self::Rw => keel.rw_locks_known().await?,
            Self::Semaphore => keel.semaphores_known().await?,
        };
        Ok(names.iter().map(ToString::to_string).collect())
    }

    /// The lock of this name, if it is in use.
    pub(super) async fn find(self, keel: &Keel, name: &str) -> Result<Option<Entry>> {
        let in_use = |state: Option<PoolState>| state.filter(|state| !state.is_idle());
        Ok(match self {
            Self::Lock => keel.lock(name).inspect().await?.map(Entry::Lock),
            Self::Rw => in_use(keel.rw_lock(name).inspect().await?).map(Entry::Rw),
            // The number of permits matters only for acquiring them.
            Self::Semaphore => in_use(keel.semaphore(name, 1).inspect().await?).map(Entry::Semaphore),
        })
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Rw => "rw",
            Self::Semaphore => "semaphore",
        }
    }
}

impl Entry {
    fn kind(&self) -> Kind {
        match self {
            Self::Lock(_) => Kind::Lock,
            Self::Rw(_) => Kind::Rw,
            Self::Semaphore(_) => Kind::Semaphore,
        }
    }

    fn state(&self) -> String {
        match self {
            Self::Lock(holder) if holder.lease_left_ms == 0 => "lock delay".to_owned(),
            Self::Lock(_) => "held".to_owned(),
            Self::Rw(state) if state.holders.is_empty() => "free".to_owned(),
            Self::Rw(state) if state.holders.iter().any(|holder| holder.permits == PERMITS_MAX) => {
                "write-locked".to_owned()
            }
            Self::Rw(state) => format!("readers: {}", state.holders.len()),
            Self::Semaphore(state) => {
                let held: u32 = state.holders.iter().map(|holder| holder.permits).sum();
                format!("{held} of {} permits held", state.permits_in_all)
            }
        }
    }

    pub(super) fn row(&self, name: &str) -> Vec<String> {
        let (fence, held_ms, waiting, metadata) = match self {
            Self::Lock(holder) => {
                (holder.fence.to_string(), holder.held_ms, holder.waiting, printable(&holder.metadata))
            }
            Self::Rw(state) | Self::Semaphore(state) => {
                let first = state.holders.first();
                let held_ms = first.map_or(0, |holder| holder.held_ms);
                let metadata: Vec<String> = state.holders.iter().map(|holder| printable(&holder.metadata)).collect();
                let fence = if self.kind() == Kind::Rw { state.fence.to_string() } else { String::new() };
                (fence, held_ms, state.waiting, metadata.join(", "))
            }
        };
        let (kind, metadata) = (self.kind().word().to_owned(), truncated(&metadata, METADATA_WIDTH));
        vec![name.to_owned(), kind, fence, self.state(), span(held_ms), waiting.to_string(), metadata]
    }

    pub(super) fn text(&self, name: &str) -> String {
        let holder_of = |metadata: &[u8]| foreign(&printable(metadata));
        let mut text = format!("{}\n  kind     {}\n  state    {}\n", foreign(name), self.kind().word(), self.state());
        match self {
            Self::Lock(holder) => {
                text.push_str(&format!(
                    "  fence    {}\n  held for {}\n  free in  {} unless renewed or released\n  waiting  {} processes\n  \
                     holder   {}\n",
                    holder.fence,
                    span(holder.held_ms),
                    span(holder.free_in_ms),
                    holder.waiting,
                    holder_of(&holder.metadata),
                ));
            }
            Self::Rw(state) | Self::Semaphore(state) => {
                if self.kind() == Kind::Rw {
                    text.push_str(&format!("  fence    {}\n", state.fence));
                }
                text.push_str(&format!("  waiting  {}\n", state.waiting));
                for holder in &state.holders {
                    text.push_str(&format!(
                        "  holder   {:?}  permits {}  held for {}  lease left {}  {}\n",
                        holder.owner,
                        holder.permits,
                        span(holder.held_ms),
                        span(holder.lease_left_ms),
                        holder_of(&holder.metadata),
                    ));
                }
            }
        }
        text
    }

    pub(super) fn json(&self, name: &str) -> Value {
        let mut value = match self {
            Self::Lock(holder) => json!({
                "fence": holder.fence.0,
                "lease_left_ms": holder.lease_left_ms,
                "free_in_ms": holder.free_in_ms,
                "held_ms": holder.held_ms,
                "waiting": holder.waiting,
                "holder": printable(&holder.metadata),
            }),
            Self::Rw(state) | Self::Semaphore(state) => json!({
                "waiting": state.waiting,
                "holders": holders(&state.holders),
            }),
        };
        match self {
            Self::Lock(_) => {}
            Self::Rw(state) => value["fence"] = state.fence.0.into(),
            Self::Semaphore(state) => value["permits"] = state.permits_in_all.into(),
        }
        value["name"] = name.into();
        value["kind"] = self.kind().word().into();
        value["state"] = self.state().into();
        value
    }
}

/// The holders of a read/write lock or a semaphore, as JSON.
pub(super) fn holders(holders: &[PoolHolder]) -> Value {
    let holder = |holder: &PoolHolder| {
        json!({
            "owner": format!("{:?}", holder.owner),
            "permits": holder.permits,
            "lease_left_ms": holder.lease_left_ms,
            "held_ms": holder.held_ms,
            "holder": printable(&holder.metadata),
        })
    };
    holders.iter().map(holder).collect()
}

/// Parses an owner as printed by `show`: 32 hexadecimal digits.
pub(super) fn read_owner(text: &str) -> Result<Token, String> {
    token_of_hex(text).ok_or_else(|| "use the 32 hexadecimal digits that `evenkeel lock show` prints".to_owned())
}

/// A token as 32 hexadecimal digits.
pub(crate) fn token_of_hex(text: &str) -> Option<Token> {
    <[u8; 16]>::try_from(from_hex(text)?).ok().map(Token::from)
}

#[cfg(test)]
mod tests {
    use super::read_owner;
    use evenkeel::Token;

    #[test]
    fn printed_owner_parses_back() {
        let owner = Token::from([0x0a; 16]);
        assert_eq!(read_owner(&format!("{owner:?}")), Ok(owner));
        for wrong in ["", "0a", "+0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0", "zz0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"] {
            assert!(read_owner(wrong).is_err(), "{wrong}");
        }
    }
}
