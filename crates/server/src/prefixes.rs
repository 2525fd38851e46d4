//! Finds the prefixes under which a Redis holds queues or streams, for operators who do not know the prefix of a service.

use crate::listing::Listing;
use crate::output::{Output, warn};
use anyhow::Result;
use evenkeel::Keel;
use redis::{FromRedisValue, cmd};
use std::collections::BTreeSet;

/// The suffix of the key that registers the topics of a prefix.
pub(crate) const TOPICS: &str = ":q:topics";
/// The suffix of the key that registers the streams of a prefix.
pub(crate) const STREAMS: &str = ":s:streams";

/// Keys that one `SCAN` visits.
const PAGE: u32 = 1000;

/// Maximum number of `SCAN` calls: bounds the search on a Redis with very many keys.
const PAGES_MAX: u32 = 20_000;

/// Maximum number of printed prefixes.
const SHOWN_MAX: usize = 20;

/// The prefixes under which programs have opened queues or streams, sorted.
pub(crate) async fn find(keel: &Keel, register: &str) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let Some(link) = keel.link() else { return Ok(found) };
    let mut cursor = "0".to_owned();
    for _ in 0..PAGES_MAX {
        let scan = cmd("SCAN").arg(&cursor).arg("MATCH").arg(format!("*{register}")).arg("COUNT").arg(PAGE).take();
        let (next, keys) = <(String, Vec<String>)>::from_redis_value(link.command(b"", &scan).await?)?;
        found.extend(keys.iter().filter_map(|key| key.strip_suffix(register)).map(str::to_owned));
        if next == "0" {
            break;
        }
        cursor = next;
    }
    Ok(found)
}

/// Prints a listing of `what` (`queues`, `streams`); if there are none under this prefix, those that have some.
pub(crate) async fn print(keel: &Keel, all: &Listing, (what, register): (&str, &str), output: Output) -> Result<bool> {
    if !all.rows.is_empty() || !all.rejected.is_empty() {
        all.print(output)?;
        return Ok(true);
    }
    let found = find(keel, register).await?;
    let hint = hint(what, keel.link().map(|link| link.prefix()).unwrap_or_default(), &found);
    output.print(&all.value, "")?;
    warn(&hint);
    // Those of another prefix mean that the address lacks the service's prefix.
    Ok(found.is_empty())
}

/// The message if there are none of `what` under `prefix`.
fn hint(what: &str, prefix: &str, found: &BTreeSet<String>) -> String {
    let none = format!("no {what} under the prefix {prefix:?}");
    if found.is_empty() {
        return format!("{none} or any other prefix");
    }
    let mut shown: Vec<&str> = found.iter().take(SHOWN_MAX).map(String::as_str).collect();
    let more = format!("and {} more", found.len().saturating_sub(SHOWN_MAX));
    if found.len() > SHOWN_MAX {
        shown.push(&more);
    }
    let names = shown.join(", ");
    format!("{none}; there are {what} under these prefixes: {names} (add ?prefix=NAME to the address)")
}
