//! What changes mean: the rules of a table, and the keys that they read from rows.

mod key;
mod table;

pub use table::{Changed, TableRules};
pub(super) use table::{Effect, Rule, check_name};
