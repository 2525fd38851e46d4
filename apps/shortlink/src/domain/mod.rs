//! What a link is, and what may become one. Pure: no I/O, no clock.

mod code;
mod link;
mod own_address;
mod page;
mod private_network;
mod target;
mod write;

pub use code::{ALIAS_CHARACTERS_MAX, Code, CodeRefused};
pub use link::{Link, LinkPatch, NewLink, version_after, whole_ms};
pub use page::{Page, PageRefused, PageRequest, ROWS_REACHED_MAX, ROWS_SHOWN_MAX};
pub use target::{TARGET_BYTES_MAX, Target, TargetRefused, TargetRules};
pub use write::{Conflict, NotedWrite, Verdict, Wanted};
