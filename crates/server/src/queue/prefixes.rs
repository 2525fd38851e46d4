//! The prefixes under which a Redis holds queues: for operators who do not know which one a service uses.

use anyhow::Result;
use evenkeel::Keel;
use redis::{FromRedisValue, cmd};
use std::collections::BTreeSet;

/// What ends the key in which the topics of a prefix are registered.
const REGISTER: &str = ":q:topics";

/// Keys that one call looks at.
const PAGE: u32 = 1000;

/// Calls at most, so that a Redis with a thousand million other keys still gets an answer.
const PAGES_MAX: u32 = 20_000;

/// Prefixes that are printed.
const SHOWN_MAX: usize = 20;

/// The prefixes under which programs have opened queues, in order.
pub(super) async fn find(keel: &Keel) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let Some(link) = keel.link() else { return Ok(found) };
    let mut cursor = "0".to_owned();
    for _ in 0..PAGES_MAX {
        let scan = cmd("SCAN").arg(&cursor).arg("MATCH").arg(format!("*{REGISTER}")).arg("COUNT").arg(PAGE).take();
        let (next, keys) = <(String, Vec<String>)>::from_redis_value(link.command(b"", &scan).await?)?;
        found.extend(keys.iter().filter_map(|key| key.strip_suffix(REGISTER)).map(str::to_owned));
        if next == "0" {
            break;
        }
        cursor = next;
    }
    Ok(found)
}

/// What to tell somebody who finds no queue under `prefix`.
pub(super) fn hint(prefix: &str, found: &BTreeSet<String>) -> String {
    let none = format!("no program has opened a queue under the prefix {prefix:?}");
    if found.is_empty() {
        return format!("{none}, nor under another one");
    }
    let mut shown: Vec<&str> = found.iter().take(SHOWN_MAX).map(String::as_str).collect();
    let more = format!("and {} more", found.len().saturating_sub(SHOWN_MAX));
    if found.len() > SHOWN_MAX {
        shown.push(&more);
    }
    let names = shown.join(", ");
    format!("{none}; found under these prefixes: {names} (add ?prefix=NAME to the address)")
}
