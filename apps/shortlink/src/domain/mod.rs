//! Links, codes, targets and their validation. No I/O, no clock.

mod bots;
mod click_history;
mod clicks;
mod code;
mod link;
mod own_address;
mod page;
mod private_network;
mod target;
mod write;

pub use bots::{BOT_MARKS, is_bot};
pub use click_history::{ClickHistory, InvalidHistory};
pub(crate) use clicks::days_until;
pub use clicks::{ClickCounts, ClickStats, DAYS_MAX, DayClicks, DayNumber};
pub use code::{ALIAS_CHARACTERS_MAX, Code, InvalidCode};
pub use link::{Link, LinkPatch, NewLink, next_version, truncate_to_ms};
pub use page::{InvalidPage, Page, PageRequest, ROWS_REACHED_MAX, ROWS_SHOWN_MAX};
pub use target::{InvalidTarget, TARGET_BYTES_MAX, Target, TargetRules};
pub use write::{Conflict, Decision, Operation, PendingWrite};
