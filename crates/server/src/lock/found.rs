//! What is found under a name: an exclusive lock, a read/write lock, a semaphore; as a row, as text, as JSON.

use crate::queue::output::{readable, short};
use crate::queue::time::span;
use anyhow::Result;
use evenkeel::lock::pool::steps::{PERMITS_MAX, PoolHolder, PoolState};
use evenkeel::lock::steps::Holder;
use evenkeel::{Keel, Token};
use serde_json::{Value, json};

/// Widest column of a holder's words.
const WORDS_WIDTH: usize = 40;

/// The headings of [`Found::row`].
pub(super) const HEADINGS: [&str; 7] = ["LOCK", "KIND", "FENCE", "STATE", "HELD FOR", "WAITING", "HOLDER"];

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// An exclusive lock
    Lock,
    /// A read/write lock
    Rw,
    /// A semaphore
    Semaphore,
}

/// What is in use under a name.
pub(super) enum Found {
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

    /// What is there under `name`; nothing if nobody uses it.
    pub(super) async fn find(self, keel: &Keel, name: &str) -> Result<Option<Found>> {
        let in_use = |state: Option<PoolState>| state.filter(|state| !state.is_idle());
        Ok(match self {
            Self::Lock => keel.lock(name).inspect().await?.map(Found::Lock),
            Self::Rw => in_use(keel.rw_lock(name).inspect().await?).map(Found::Rw),
            // Whoever only looks need not know how many permits there are.
            Self::Semaphore => in_use(keel.semaphore(name, 1).inspect().await?).map(Found::Semaphore),
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

impl Found {
    fn kind(&self) -> Kind {
        match self {
            Self::Lock(_) => Kind::Lock,
            Self::Rw(_) => Kind::Rw,
            Self::Semaphore(_) => Kind::Semaphore,
        }
    }

    fn state(&self) -> String {
        match self {
            Self::Lock(holder) if holder.lease_left_ms == 0 => "cooling".to_owned(),
            Self::Lock(_) => "held".to_owned(),
            Self::Rw(state) if state.holders.is_empty() => "free".to_owned(),
            Self::Rw(state) if state.holders.iter().any(|holder| holder.permits == PERMITS_MAX) => "written".to_owned(),
            Self::Rw(state) => format!("{} reading", state.holders.len()),
            Self::Semaphore(state) => {
                let out: u32 = state.holders.iter().map(|holder| holder.permits).sum();
                format!("{out} of {} out", state.permits_in_all)
            }
        }
    }

    /// One line of a list.
    pub(super) fn row(&self, name: &str) -> Vec<String> {
        let (fence, held_ms, waiting, words) = match self {
            Self::Lock(holder) => (holder.fence.to_string(), holder.held_ms, holder.waiting, readable(&holder.words)),
            Self::Rw(state) | Self::Semaphore(state) => {
                let first = state.holders.first();
                let held_ms = first.map_or(0, |holder| holder.held_ms);
                let words: Vec<String> = state.holders.iter().map(|holder| readable(&holder.words)).collect();
                let fence = if self.kind() == Kind::Rw { state.fence.to_string() } else { String::new() };
                (fence, held_ms, state.waiting, words.join(", "))
            }
        };
        let (kind, words) = (self.kind().word().to_owned(), short(&words, WORDS_WIDTH));
        vec![name.to_owned(), kind, fence, self.state(), span(held_ms), waiting.to_string(), words]
    }

    /// All that is known, for people.
    pub(super) fn text(&self, name: &str) -> String {
        let mut text = format!("{name}\n  kind     {}\n  state    {}\n", self.kind().word(), self.state());
        match self {
            Self::Lock(holder) => {
                text.push_str(&format!(
                    "  fence    {}\n  held for {}\n  free in  {} unless it is renewed or given back\n  waiting  {} processes\n  \
                     holder   {}\n",
                    holder.fence,
                    span(holder.held_ms),
                    span(holder.free_in_ms),
                    holder.waiting,
                    readable(&holder.words),
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
                        readable(&holder.words),
                    ));
                }
            }
        }
        text
    }

    /// All that is known, for programs.
    pub(super) fn json(&self, name: &str) -> Value {
        let mut value = match self {
            Self::Lock(holder) => json!({
                "fence": holder.fence.0,
                "lease_left_ms": holder.lease_left_ms,
                "free_in_ms": holder.free_in_ms,
                "held_ms": holder.held_ms,
                "waiting": holder.waiting,
                "holder": readable(&holder.words),
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

/// Holders of permits, for programs.
pub(super) fn holders(holders: &[PoolHolder]) -> Value {
    let holder = |holder: &PoolHolder| {
        json!({
            "owner": format!("{:?}", holder.owner),
            "permits": holder.permits,
            "lease_left_ms": holder.lease_left_ms,
            "held_ms": holder.held_ms,
            "holder": readable(&holder.words),
        })
    };
    holders.iter().map(holder).collect()
}

/// Reads an owner as `show` writes it: 32 hexadecimal digits.
pub(super) fn read_owner(text: &str) -> Result<Token, String> {
    let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32);
    let number = number.ok_or("a holder is named by 32 hexadecimal digits, as `evenkeel lock show` prints them")?;
    Ok(Token::from(number.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::read_owner;
    use evenkeel::Token;

    #[test]
    fn an_owner_is_read_as_it_is_written() {
        let owner = Token::from([0x0a; 16]);
        assert_eq!(read_owner(&format!("{owner:?}")), Ok(owner));
        for wrong in ["", "0a", "+0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0", "zz0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"] {
            assert!(read_owner(wrong).is_err(), "{wrong}");
        }
    }
}
