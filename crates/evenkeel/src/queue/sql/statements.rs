//! The statements on `evenkeel_jobs` and `evenkeel_topics`.

use crate::sql::database::{Lists, Statement};

const INSERT: &str = "INSERT INTO evenkeel_jobs (topic, job, version, state, fence, due_at, record, keep_ms, changed_at) \
    VALUES (?, ?, ?, 1, 0, ?, ?, ?, {now})";
pub(super) static INSERT_MYSQL: Statement = Statement::new(INSERT);
pub(super) static INSERT_OTHERS: Statement = Statement::new(
    "INSERT INTO evenkeel_jobs (topic, job, version, state, fence, due_at, record, keep_ms, changed_at) \
     VALUES (?, ?, ?, 1, 0, ?, ?, ?, {now}) ON CONFLICT DO NOTHING",
);
pub(super) static VERSION: Statement =
    Statement::new("UPDATE evenkeel_jobs SET version = ?, record = ? WHERE topic = ? AND job = ?");
/// Replaces an older version in any state; the fence stays.
pub(super) static REPLACE: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET version = ?, state = 1, due_at = ?, record = ?, keep_ms = ?, changed_at = {now}, forget_at = NULL, \
     errors = 0, failure = NULL, dead = 0, redriven = 0 WHERE topic = ? AND job = ? AND version < ?",
);
pub(super) static WITHDRAW: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET version = ?, state = 2, ended_as = 5, changed_at = {now}, forget_at = {now} + keep_ms \
     WHERE topic = ? AND job = ? AND version < ?",
);
pub(super) static START: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET fence = ?, errors = {greatest}(errors, ?), redriven = 0, changed_at = {now} \
     WHERE topic = ? AND job = ? AND version = ? AND state = 1 AND dead < ? AND fence < ? \
     AND NOT EXISTS (SELECT 1 FROM evenkeel_topics WHERE topic = ? AND paused_until > ?)",
);
pub(super) static DONE_DELETE: Statement = Statement::new(
    "DELETE FROM evenkeel_jobs WHERE topic = ? AND job = ? AND version = ? AND state = 1 AND fence = ? AND keep_ms <= ?",
);
pub(super) static DONE_KEEP: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET state = 2, ended_as = 1, changed_at = {now}, forget_at = {now} + keep_ms \
     WHERE topic = ? AND job = ? AND version = ? AND state = 1 AND fence = ? AND keep_ms > ?",
);
pub(super) static FAILED: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET errors = {greatest}(errors, ?), failure = ?, dead = ?, due_at = ?, changed_at = {now} \
     WHERE topic = ? AND job = ? AND version = ? AND fence = ? AND state = 1",
);
pub(super) static MARK_DEAD: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET errors = {greatest}(errors, ?), failure = ?, dead = 1, due_at = ?, redriven = 0, changed_at = {now} \
     WHERE topic = ? AND job = ? AND version = ? AND fence = ? AND redriven = ? AND dead = 0 AND state = 1",
);
pub(super) static REDRIVE: Lists = Lists::new(
    "UPDATE evenkeel_jobs SET errors = 0, dead = 0, redriven = 1, due_at = ?, changed_at = {now} \
     WHERE topic = ? AND state = 1 AND dead = 1 AND job IN (..)",
);
pub(super) static ROW: Statement = Statement::new(
    "SELECT version, state, fence, due_at, ended_as, errors, dead, redriven, record, failure FROM evenkeel_jobs \
     WHERE topic = ? AND job = ?",
);
pub(super) static ENDED: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET state = 2, ended_as = ?, changed_at = {now}, forget_at = {now} + keep_ms \
     WHERE topic = ? AND job = ? AND version = ? AND state = 1",
);
pub(super) static REVOKE: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET version = version + 1, state = 2, ended_as = ?, changed_at = {now}, forget_at = {now} + keep_ms + ? \
     WHERE topic = ? AND job = ? AND version = ? AND fence = ? AND state = 1",
);
pub(super) static CHANGE: Statement = Statement::new(
    "UPDATE evenkeel_jobs SET version = ?, due_at = ?, record = ?, redriven = 0, changed_at = {now} \
     WHERE topic = ? AND job = ? AND version = ? AND fence = ? AND dead = ? AND state = 1",
);
pub(super) static PAGE_OF_HEADS: Statement = Statement::new(
    "SELECT job, version, state, fence, due_at, ended_as, errors, dead, redriven FROM evenkeel_jobs \
     WHERE topic = ? AND state = 1 AND job > ? AND due_at < ? ORDER BY job LIMIT ?",
);
/// Two forms of the cursor, with which each database reads no more than the page from its index.
pub(super) static DUE_MYSQL: Statement = Statement::new(
    "SELECT job, version, state, fence, due_at, ended_as, errors, dead, redriven FROM evenkeel_jobs \
     WHERE topic = ? AND state = 1 AND dead = ? AND (due_at > ? OR due_at = ? AND job > ?) ORDER BY due_at, job LIMIT ?",
);
pub(super) static DUE_OTHERS: Statement = Statement::new(
    "SELECT job, version, state, fence, due_at, ended_as, errors, dead, redriven FROM evenkeel_jobs \
     WHERE topic = ? AND state = 1 AND dead = ? AND (due_at, job) > (?, ?) ORDER BY due_at, job LIMIT ?",
);
/// The same in descending order.
pub(super) static NEWEST_MYSQL: Statement = Statement::new(
    "SELECT job, version, state, fence, due_at, ended_as, errors, dead, redriven FROM evenkeel_jobs \
     WHERE topic = ? AND state = 1 AND dead = ? AND (due_at < ? OR due_at = ? AND job < ?) ORDER BY due_at DESC, job DESC LIMIT ?",
);
pub(super) static NEWEST_OTHERS: Statement = Statement::new(
    "SELECT job, version, state, fence, due_at, ended_as, errors, dead, redriven FROM evenkeel_jobs \
     WHERE topic = ? AND state = 1 AND dead = ? AND (due_at, job) < (?, ?) ORDER BY due_at DESC, job DESC LIMIT ?",
);
pub(super) static HEADS: Lists = Lists::new(
    "SELECT job, version, state, fence, due_at, ended_as, errors, dead, redriven FROM evenkeel_jobs \
     WHERE topic = ? AND job IN (..)",
);
/// Adding `state` (1) gives the sum the type of that column in every database.
pub(super) static SIZES: Lists =
    Lists::new("SELECT job, LENGTH(record) + state FROM evenkeel_jobs WHERE topic = ? AND state = 1 AND job IN (..)");
pub(super) static BODIES: Lists = Lists::new(
    "SELECT job, version, state, fence, due_at, ended_as, errors, dead, redriven, record, failure FROM evenkeel_jobs \
     WHERE topic = ? AND state = 1 AND job IN (..)",
);
pub(super) static COUNT: Statement = Statement::new("SELECT COUNT(*) FROM evenkeel_jobs WHERE topic = ? AND state = 1");
pub(super) static COUNT_DEAD: Statement =
    Statement::new("SELECT COUNT(*) FROM evenkeel_jobs WHERE topic = ? AND state = 1 AND dead = 1");
pub(super) static PAUSED: Statement = Statement::new("SELECT paused_until FROM evenkeel_topics WHERE topic = ?");
pub(super) static PAUSE: Statement =
    Statement::new("INSERT INTO evenkeel_topics (topic, paused_until, changed_at) VALUES (?, ?, {now})");
pub(super) static RESUME: Statement = Statement::new("DELETE FROM evenkeel_topics WHERE topic = ?");
pub(super) static FORGET_MYSQL: Statement =
    Statement::new("DELETE FROM evenkeel_jobs WHERE state = 2 AND forget_at < {now} LIMIT ?");
pub(super) static FORGET_OTHERS: Statement = Statement::new(
    "DELETE FROM evenkeel_jobs WHERE (topic, job) IN \
     (SELECT topic, job FROM evenkeel_jobs WHERE state = 2 AND forget_at < {now} LIMIT ?)",
);
