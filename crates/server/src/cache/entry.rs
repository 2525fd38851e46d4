//! An entry of a cache in words, as a table and as JSON.

use crate::output::{JSON, body_json, printable};
use crate::time::{distance, span, text as moment};
use evenkeel::cache::admin::{Entry, Header, HeaderError, Inspected, Verdict};
use serde_json::{Value, json};
use web::hex;

/// The compression number of payloads that are not compressed.
const PLAIN: u8 = 0;

/// One word for the state, which programs compare, and what it means for readers.
pub(crate) fn state(found: &Inspected) -> (&'static str, &'static str) {
    let entry = match &found.entry {
        None => return ("none", "no entry: the next read loads it"),
        Some(Err(HeaderError::NewerFormat)) => {
            return ("newer", "written by a newer program: this one loads without storing; an invalidation deletes it");
        }
        Some(Err(HeaderError::Corrupt)) => {
            return ("foreign", "not an entry of the fenced protocol: the next read of such a cache replaces it");
        }
        Some(Ok(entry)) => entry,
    };
    let header = &entry.header;
    let is_writing = header.windows.iter().any(|window| window.until_ms > found.now_ms);
    let is_loading = header.lease.as_ref().is_some_and(|lease| lease.token.is_some() && lease.until_ms > found.now_ms);
    match header.verdict(found.now_ms) {
        Verdict::Hit => ("fresh", "served to every reader"),
        Verdict::Due => ("due", "served; the next reader also loads a new value"),
        Verdict::Stale => {
            ("stale", "invalidated: served to readers that accept a stale value, while one loads the new one")
        }
        Verdict::Miss if is_writing => {
            ("writing", "no value: a writer has an open update window, so nothing is stored")
        }
        Verdict::Miss if is_loading => ("loading", "no value: a reader is loading it, and the others wait"),
        Verdict::Miss if header.value.is_some() => {
            ("expired", "expired: only for readers whose load fails; the next read loads a new value")
        }
        Verdict::Miss => ("empty", "no value: the next read loads it"),
    }
}

/// The facts about an entry, apart from its value.
pub(crate) fn facts(found: &Inspected) -> Vec<(&'static str, String)> {
    let (word, meaning) = state(found);
    let mut facts = vec![("state", format!("{word}: {meaning}"))];
    if let Some(Ok(entry)) = &found.entry {
        facts.extend(of_value(entry, found.now_ms));
        facts.extend(of_entry(&entry.header, found.now_ms));
    }
    facts
}

fn of_value(entry: &Entry, now: u64) -> Vec<(&'static str, String)> {
    let Some(value) = &entry.header.value else { return Vec::new() };
    let at = |ms: u64| format!("{} ({})", moment(ms), distance(ms, now));
    let mut facts = Vec::new();
    if value.absent {
        facts.push(("row", "does not exist; its absence is cached".to_owned()));
    } else {
        let packed = if value.compression == PLAIN { "" } else { ", compressed" };
        facts.push(("size", format!("{} bytes{packed}, codec {}", entry.payload.len(), value.codec)));
    }
    facts.push(("loaded", at(value.loaded_at_ms)));
    facts.push(("refresh due", at(value.soft_until_ms)));
    facts.push(("expires", at(value.hard_until_ms)));
    facts.extend(value.version.map(|version| ("version", version.to_string())));
    facts
}

fn of_entry(header: &Header, now: u64) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if header.floor > 0 {
        facts.push(("minimum version", header.floor.to_string()));
    }
    if let Some(lease) = header.lease.as_ref().filter(|lease| lease.until_ms > now) {
        let left = span(lease.until_ms - now);
        facts.push(match lease.token {
            Some(_) => ("load", format!("began {}, exclusive for another {left}", distance(lease.at_ms, now))),
            None => ("load", format!("the last one failed; the next one may begin in {left}")),
        });
    }
    let open: Vec<u64> = header.windows.iter().map(|window| window.until_ms).filter(|until| *until > now).collect();
    if let Some(last) = open.iter().max() {
        facts.push(("update windows", format!("{} open, the last one ends in {}", open.len(), span(last - now))));
    }
    if header.suspect_until_ms > now {
        let left = span(header.suspect_until_ms - now);
        facts.push(("suspect", format!("for another {left}: a writer whose window expired may still commit")));
    }
    if header.invalidated_at_ms > 0 {
        let invalidated = distance(header.invalidated_at_ms, now);
        facts.push(("invalidated", format!("{invalidated}; until the lag has passed, loads read no replica")));
    }
    facts.push(("entry ends", format!("{} ({})", moment(header.ends_at_ms), distance(header.ends_at_ms, now))));
    facts.push(("schema", format!("{:08x}", header.schema)));
    facts.push(("generation", hex(&header.generation.0)));
    facts
}

/// The value as text, if it is JSON that is not compressed.
pub(crate) fn text(found: &Inspected) -> Option<String> {
    let entry = found.entry.as_ref()?.as_ref().ok()?;
    let value = found.value()?;
    (value.codec == JSON && value.compression == PLAIN && !value.absent).then(|| printable(&entry.payload))
}

/// Times are in ms since 1970, on the store's clock; numbers of 64 bits are as in other commands, plain numbers.
pub(crate) fn json(cache: &str, key: &str, found: &Inspected) -> Value {
    let (word, _) = state(found);
    let mut json = json!({ "cache": cache, "key": key, "state": word, "now_ms": found.now_ms });
    let Some(Ok(entry)) = &found.entry else { return json };
    let header = &entry.header;
    if let Some(value) = &header.value {
        json["value"] = json!({
            "absent": value.absent, "bytes": entry.payload.len(), "codec": value.codec, "compression": value.compression,
            "loaded_ms": value.loaded_at_ms, "refresh_ms": value.soft_until_ms, "expires_ms": value.hard_until_ms,
            "version": value.version, "body": text(found).map(|text| body_json(text.as_bytes())),
        });
    }
    json["ends_ms"] = header.ends_at_ms.into();
    json["schema"] = format!("{:08x}", header.schema).into();
    json["generation"] = hex(&header.generation.0).into();
    json["minimum_version"] = header.floor.into();
    json["loading"] = (word == "loading").into();
    let windows = header.windows.iter().map(|window| window.until_ms).filter(|until| *until > found.now_ms);
    json["windows_until_ms"] = windows.collect::<Vec<u64>>().into();
    json
}
