//! Why change capture ended.

use super::source::{Gap, Position, SourceError, Table};
use crate::sql::SqlError;
use std::sync::Arc;

/// Why a reader ended, or an operator's call failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CdcError {
    /// A setting is missing or contradicts another one. Nothing was read.
    #[error("the settings of change capture are invalid: {0}")]
    Settings(String),
    /// The database of the checkpoint returned an error.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// History is lost, and the policy is [`GapPolicy::Stop`](super::GapPolicy::Stop). The checkpoint was not moved: every start ends like
    /// this until the policy is [`GapPolicy::Continue`](super::GapPolicy::Continue). Before that, remove from the caches what the lost
    /// changes may have made old.
    #[error("changes are missing in the log of the source: {0}")]
    Gap(Gap),
    /// The source refuses to start, or its log cannot be decoded. The text has the remedy.
    #[error(transparent)]
    Source(SourceError),
    /// A change has no key for a rule: the log left a column of the key out, the table has no such column, or its value cannot be a key.
    /// The checkpoint was not moved; the text says what to change.
    #[error("rule {rule}: the change of {table} at {position} has no key: {reason}")]
    Unmapped {
        /// The name of the rule.
        rule: Arc<str>,
        /// The table of the change.
        table: Table,
        /// Where in the log.
        position: Position,
        /// What is missing, and the remedy.
        reason: String,
    },
    /// So many keys wait for an operator that something is wrong with the function of the rule.
    #[error("rule {rule}: {count} keys are parked; mend its function and release them")]
    TooManyParked {
        /// The name of the rule.
        rule: String,
        /// How many there are.
        count: usize,
    },
}
