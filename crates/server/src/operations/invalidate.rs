//! Marks an entry of a cache as outdated.

use super::{Done, Failure, Operation};
use crate::roles::Action;
use evenkeel::cache::Invalidated;
use evenkeel::cache::admin::{CacheAdmin, Mode, Outdated};
use serde_json::json;

/// `admin` is that of the cache of this name.
pub(crate) fn invalidate<'a>(
    admin: &'a CacheAdmin,
    (cache, key): (&'a str, &'a str),
    outdated: Outdated,
) -> Operation<'a> {
    let is_purge = outdated.mode == Mode::Purge;
    let run = async move {
        // This program has no spool, in which an invalidation could wait for Redis: it is done, or it is an error.
        let done = admin.invalidate(key, outdated).await.map_err(|error| Failure::Cache("key", error))?;
        let (text, line) = match outdated.mode {
            Mode::Purge => ("Purged: the old value is never served again.", "purged"),
            Mode::Expire { .. } => ("Invalidated: the next read loads the value.", "invalidated"),
        };
        Ok(match done {
            Invalidated::NoEntry => Done::new(
                "no_entry",
                "There was no entry. Check the names of the cache and of the key.",
                format!("{line} (there was no entry; check the names of the cache and of the key)"),
            ),
            _ => Done::new("invalidated", text, line),
        })
    };
    let target = json!({ "cache": cache, "key": key, "purge": is_purge });
    Operation::new((Action::Invalidate, "invalidate"), cache, target, run)
}
