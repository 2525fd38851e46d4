//! Golden vectors, `docs/vectors/*.jsonl`: bytes that a native client in another language can check itself against.
//!
//! A vector states bytes of the protocol in hexadecimal. Lines are only added: bytes that change are a new format. After an intended
//! addition, `EVENKEEL_WRITE_VECTORS=1 cargo nextest run -p evenkeel-server vectors` writes the files.

mod calls;
mod effects;
mod locks;

use bytes::Bytes;
use evenkeel::cache::key_text;
use evenkeel_link::Token;
use evenkeel_protocol::cache::header::{Entry, Header, LeaseBlock, Value as Stored};
use evenkeel_protocol::cache::keys::{CacheKeys, keys_of_text};
use evenkeel_protocol::cache::steps::Generation;
use evenkeel_protocol::queue::job::{
    CompletionRecord, End, ErrorClass, ErrorNote, Job, JobId, JobSpec, Note, Priority, Retention, Retries, UniqueKey,
};
use evenkeel_protocol::queue::record::{encode_completion, encode_job};
use evenkeel_protocol::queue::steps::Shard;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn vector(name: &str, given: impl Into<Value>, expect: impl Into<Value>) -> Value {
    let (given, expect) = (given.into(), expect.into());
    json!({ "name": name, "given": given, "expect": expect })
}

/// Texts that name a key as the program has it, and that the cache or Redis writes in another way.
pub(crate) const KEY_TEXTS: [&str; 6] = ["100%", "/a%20b", "Müller, Ada", r"a\b", "{x}", "%7D"];

/// The id of a job may look like the id of another one.
const DIGEST: &str = "d41d8cd98f00b204e9800998ecf8427e";

/// Texts that need escaping somewhere.
const TEXTS: [&str; 6] = ["42", "welcome/42", "a}b%{c", "größe", "%7D", " "];

fn ids() -> Vec<Value> {
    let of = |text: &str| {
        let (id, unique) = (JobId::named(text.as_bytes()), JobId::of_unique_key(text.as_bytes()));
        let shards: Vec<u16> = [1, 2, 3, 16, 1_000].iter().map(|count| id.shard(*count)).collect();
        let expect = json!({
            "id": id.to_string(), "id_of_unique_key": unique.to_string(),
            "unique_key": hex(UniqueKey::new(text.as_bytes()).0), "shards": shards,
        });
        vector(&format!("id of {text:?}"), json!({ "text": text, "shard_counts": [1, 2, 3, 16, 1000] }), expect)
    };
    TEXTS.into_iter().chain([DIGEST]).map(of).collect()
}

/// What Redis shows between the braces for a key that is this text.
pub(crate) fn shown(text: &str) -> String {
    key_text(text).replace('%', "%25").replace('}', "%7D")
}

fn keys() -> Vec<Value> {
    let cache = CacheKeys::new("ns", "user");
    let of_cache = TEXTS.iter().map(|text| {
        let given = json!({ "prefix": "ns", "cache": "user", "key": hex(text) });
        vector(&format!("cache entry {text:?}"), given, json!({ "key": hex(cache.key(text.as_bytes())) }))
    });
    let of_shard = [0, 15].map(|number| {
        let given = json!({ "prefix": "ns", "topic": "mail", "shard": number });
        let tag = Shard::new("ns", "mail", number);
        vector(&format!("shard {number}"), given, json!({ "tag": tag.tag() }))
    });
    let key_of_text = KEY_TEXTS.map(|text| {
        let given = json!({ "prefix": "ns", "cache": "user", "key_of_type_text": text });
        vector(
            &format!("entry of the text {text:?}"),
            given,
            json!({ "key": hex(cache.key(key_text(text).as_bytes())) }),
        )
    });
    let named = KEY_TEXTS.into_iter().flat_map(|text| [text.to_owned(), shown(text)]).map(|text| {
        let keys: Vec<String> = keys_of_text(&text).iter().map(|key| hex(cache.key(key.as_bytes()))).collect();
        let given = json!({ "prefix": "ns", "cache": "user", "named": text });
        vector(&format!("entries named {text:?}"), given, json!({ "keys": keys }))
    });
    of_cache.chain(of_shard).chain(key_of_text).chain(named).collect()
}

fn records() -> Vec<Value> {
    let plain = JobSpec { codec: Some(1), ..JobSpec::new(Bytes::from_static(br#"{"user":42}"#)) };
    let error = ErrorNote {
        at: 1_700_000_100_000,
        class: ErrorClass::Failed,
        attempt: 1,
        text: Bytes::from_static(b"smtp refused"),
    };
    let full = JobSpec {
        priority: Priority::Urgent,
        retries: Retries::Unlimited,
        retention: Retention::AfterEnd(86_400_000),
        late_ms_max: Some(60_000),
        notes: vec![Note::Error(error), Note::Name(Bytes::from_static(b"welcome/42"))],
        codec: Some(9),
        ..plain.clone()
    };
    let accepted = |spec| Job::accepted(spec, 1_700_000_000_000, 1_700_000_300_000);
    let leased = Job {
        errors: 1,
        started: true,
        fence: 1_700_000_300_000_001,
        token: Some(Token::from([7; 16])),
        ..accepted(plain.clone())
    };
    let jobs = [("waiting", accepted(plain)), ("all fields", accepted(full)), ("leased", leased)];
    let of_job = jobs.into_iter().map(|(name, job)| {
        vector(&format!("job, {name}"), given_job(&job), json!({ "record": hex(encode_job(&job)) }))
    });
    let ends = [(End::Done, Some(1_700_086_400_000)), (End::Revoked, None)].map(|(end, until)| {
        let completion = CompletionRecord { end, until, version: 3, ended_at: 1_700_000_000_000 };
        let given = json!({ "end": end as u8, "until": until, "version": 3, "ended_at": 1_700_000_000_000_u64 });
        vector(&format!("completion record, {end:?}"), given, json!({ "record": hex(encode_completion(&completion)) }))
    });
    of_job.chain(ends).collect()
}

/// Times in ms since 1970, spans in ms.
fn given_job(job: &Job) -> Value {
    let spec = &job.spec;
    let notes = spec.notes.iter().map(|note| match note {
        Note::Name(name) => json!({ "name": hex(name) }),
        Note::Error(error) => {
            json!({ "error": { "at": error.at, "class": error.class as u8, "attempt": error.attempt, "text": hex(&error.text) } })
        }
        other => unreachable!("no vector has {other:?}"),
    });
    let retention = match spec.retention {
        Retention::AfterEnd(ms) => json!({ "after_end_ms": ms }),
        Retention::Nothing => json!("nothing"),
        other => unreachable!("no vector has {other:?}"),
    };
    let retries = match spec.retries {
        Retries::Limited(retries) => json!(retries),
        Retries::Unlimited => json!("unlimited"),
    };
    json!({
        "priority": spec.priority as u8, "retries": retries, "retention": retention, "late_ms_max": spec.late_ms_max,
        "codec": spec.codec, "body": hex(&spec.body), "notes": notes.collect::<Vec<_>>(), "enqueued_at": job.enqueued_at,
        "expires_at": job.expires_at, "errors": job.errors, "is_started": job.started, "fence": job.fence,
        "token": job.token.map(|token| hex(token.as_bytes())),
    })
}

fn given_entry(header: &Header, payload: &str) -> Value {
    let value = header.value.map(|value| {
        json!({
            "loaded_at": value.loaded_at_ms, "soft_until": value.soft_until_ms, "hard_until": value.hard_until_ms,
            "version": value.version, "codec": value.codec, "compression": value.compression,
        })
    });
    let lease = header.lease.map(|lease| {
        json!({ "token": lease.token.map(|token| hex(token.as_bytes())), "at": lease.at_ms, "until": lease.until_ms })
    });
    json!({
        "schema": header.schema, "generation": hex(header.generation.0), "granted": header.granted, "filled": header.filled,
        "ends_at": header.ends_at_ms, "floor": header.floor, "value": value, "lease": lease, "payload": hex(payload),
    })
}

fn entries() -> Vec<Value> {
    let empty = Header {
        schema: 0xDEAD_BEEF,
        generation: Generation([5; 8]),
        granted: 2,
        filled: 1,
        ends_at_ms: 1_700_000_600_000,
        value: None,
        lease: None,
        floor: 0,
        invalidated_at_ms: 0,
        suspect_until_ms: 0,
        windows: Vec::new(),
    };
    let value = Stored {
        loaded_at_ms: 1_700_000_000_000,
        soft_until_ms: 1_700_000_300_000,
        hard_until_ms: 1_700_000_600_000,
        version: Some(7),
        absent: false,
        stale: false,
        codec: 1,
        compression: 0,
    };
    let lease = LeaseBlock { token: Some(Token::from([6; 16])), at_ms: 1_700_000_000_000, until_ms: 1_700_000_005_000 };
    let stored = Header { value: Some(value), floor: 7, ..empty.clone() };
    let loading = Header { lease: Some(lease), granted: 3, ..stored.clone() };
    let cases = [
        ("being loaded", Header { lease: Some(lease), ..empty }, ""),
        ("stored", stored, "\"ada\""),
        ("refreshed", loading, "\"ada\""),
    ];
    let of = |(name, header, payload): (&str, Header, &'static str)| {
        let given = given_entry(&header, payload);
        let entry = Entry { header, payload: Bytes::from_static(payload.as_bytes()) };
        vector(&format!("cache entry, {name}"), given, json!({ "entry": hex(entry.to_bytes()) }))
    };
    cases.into_iter().map(of).collect()
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors").join(name)
}

/// Compares these vectors with those of the file, or writes it.
fn check(name: &str, vectors: &[Value]) {
    if std::env::var_os("EVENKEEL_WRITE_VECTORS").is_some() {
        let text: String = vectors.iter().map(|vector| format!("{vector}\n")).collect();
        std::fs::create_dir_all(file("")).unwrap();
        std::fs::write(file(name), &text).unwrap();
    }
    let held = std::fs::read_to_string(file(name)).unwrap();
    let held: Vec<Value> = held.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(held, vectors, "{name}: see this file for how to add lines");
}

// shows: hazard BC3
#[test]
fn golden_vectors_are_those_of_the_program() {
    let files =
        [("ids.jsonl", ids()), ("keys.jsonl", keys()), ("records.jsonl", records()), ("entries.jsonl", entries())];
    for (name, vectors) in files {
        check(name, &vectors);
    }
}
