//! The statements on `evenkeel_locks`. Each one decides and changes atomically, by the database's clock (`{now}`).
//!
//! Statements called `.._WITHOUT_..` lack one condition, for tests that must fail without it.

use crate::sql::database::Statement;

macro_rules! acquire {
    ($fence:literal, $free:literal) => {
        Statement::new(concat!(
            "UPDATE evenkeel_locks SET fence = ",
            $fence,
            ", owner = ?, lease_ms = ?, cooling_ms = ?, limit_at = {now} + ?, words = ?, \
             since_at = {now}, ends_at = {now} + ? WHERE name = ? AND ",
            $free
        ))
    };
}

macro_rules! renew {
    ($owner:literal, $ended:literal) => {
        Statement::new(concat!(
            "UPDATE evenkeel_locks SET ends_at = {least}({now} + ?, limit_at), lease_ms = ? \
             WHERE name = ? AND ends_at < {least}({now} + ?, limit_at) AND ",
            $owner,
            " AND ",
            $ended
        ))
    };
}

macro_rules! release {
    ($owner:literal, $ended:literal) => {
        Statement::new(concat!(
            "UPDATE evenkeel_locks SET owner = NULL, cooling_ms = 0, words = NULL, ends_at = {now} \
             WHERE name = ? AND ",
            $owner,
            " AND ",
            $ended
        ))
    };
}

macro_rules! raise {
    ($owner:literal) => {
        Statement::new(concat!(
            "UPDATE evenkeel_locks SET fence = {greatest}(fence, ?) + 1 WHERE name = ? AND fence <= ? AND ",
            $owner,
            " AND ends_at > {now}"
        ))
    };
}

/// Takes a free lock. Values: floor, owner, lease, cooling, hold, words, lease, name.
pub(super) static ACQUIRE: Statement =
    acquire!("{greatest}(fence + 1, {now} * 1000, ? + 1)", "(owner IS NULL OR ends_at + cooling_ms <= {now})");
pub(super) static ACQUIRE_WITHOUT_FREE: Statement =
    acquire!("{greatest}(fence + 1, {now} * 1000, ? + 1)", "(owner IS NULL OR owner IS NOT NULL)");
pub(super) static ACQUIRE_WITHOUT_PREVIOUS: Statement =
    acquire!("{greatest}({now} * 1000, ? + 1)", "(owner IS NULL OR ends_at + cooling_ms <= {now})");

/// Extends a lease from now, if that makes it longer. Values: lease, lease, name, lease, owner.
pub(super) static RENEW: Statement = renew!("owner = ?", "ends_at > {now}");
pub(super) static RENEW_WITHOUT_OWNER: Statement = renew!("(owner = ? OR owner IS NOT NULL)", "ends_at > {now}");
pub(super) static RENEW_WITHOUT_ENDED: Statement = renew!("owner = ?", "ends_at > 0");

/// Shortens a lease that was written before the clock was set back: it counts from now. Values: name, owner.
pub(super) static MEND: Statement = Statement::new(
    "UPDATE evenkeel_locks SET ends_at = {now} + lease_ms WHERE name = ? AND owner = ? AND ends_at > {now} + lease_ms",
);

/// Values: name, owner.
pub(super) static RELEASE: Statement = release!("owner = ?", "ends_at > {now}");
pub(super) static RELEASE_WITHOUT_OWNER: Statement = release!("(owner = ? OR owner IS NOT NULL)", "ends_at > {now}");
pub(super) static RELEASE_WITHOUT_ENDED: Statement = release!("owner = ?", "ends_at > 0");

/// Values: seen, name, seen, owner.
pub(super) static RAISE: Statement = raise!("owner = ?");
pub(super) static RAISE_WITHOUT_OWNER: Statement = raise!("(owner = ? OR owner IS NOT NULL)");

/// Values: name, owner, fence.
pub(super) static BREAK: Statement = Statement::new(
    "UPDATE evenkeel_locks SET owner = NULL, cooling_ms = 0, words = NULL, ends_at = {now} \
     WHERE name = ? AND owner = ? AND fence = ?",
);

/// The columns of `Seen`.
pub(super) static SEE: Statement = Statement::new(
    "SELECT owner, fence, ends_at - {now}, cooling_ms, {now} - since_at, lease_ms, words FROM evenkeel_locks WHERE name = ?",
);

pub(super) static CREATE: Statement = Statement::new(
    "{insert} evenkeel_locks (name, fence, ends_at, lease_ms, cooling_ms, since_at, limit_at) \
     VALUES (?, 0, 0, 0, 0, 0, 0) {or ignore}",
);

pub(super) static HELD: Statement =
    Statement::new("SELECT name FROM evenkeel_locks WHERE owner IS NOT NULL AND ends_at + cooling_ms > {now}");

/// Value: the time in ms for which the lock was not held.
pub(super) static PRUNE: Statement = Statement::new(
    "DELETE FROM evenkeel_locks WHERE (owner IS NULL OR ends_at + cooling_ms <= {now}) AND ends_at <= {now} - ?",
);
