//! What must be true of a shard in Redis whatever happened to it, read from the keys themselves and not through the steps.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use evenkeel::link::Link;
use evenkeel_protocol::queue::job::{ErrorClass, Job, Note, Retries};
use evenkeel_protocol::queue::record::Record;
use evenkeel_protocol::queue::steps::{MARKERS_MAX, Shard};
use redis::{Cmd, FromRedisValue, Value, cmd, from_redis_value, pipe};
use std::collections::{BTreeMap, BTreeSet};

const INDEXES: [&str; 6] = ["due:0", "due:1", "due:2", "due:3", "leased", "dead"];
/// Keys read in one go.
const KEYS_AT_ONCE: usize = 200;
const OTHERS: [&str; 5] = ["answers", "workers", "wake", "meta", "schedules"];

/// Checks a shard (the numbers are those of the reference): every job is in exactly one index or has ended (I1), a body
/// exists exactly if an index refers to it (I2), the counter of bytes is right (I3), a job has a token exactly if it is
/// leased (I4), no waiting job has used more attempts than it has (I6); and nothing lives longer than its ttl.
pub async fn check(link: &Link, shard: &Shard) -> Result<()> {
    let state = Dump::read(link, shard).await?;
    let mut placed = BTreeMap::new();
    for (index, ids) in INDEXES.iter().zip(&state.indexes) {
        for id in ids {
            let other = placed.insert(id.clone(), *index);
            ensure!(other.is_none(), "I1: {id:?} is in {index} and in {}", other.unwrap_or_default());
        }
    }
    let mut bytes = 0;
    for (id, (raw, ttl_ms)) in &state.records {
        let index = placed.remove(id);
        match Record::decode(raw).with_context(|| format!("{id:?}"))? {
            Record::Live(job) => {
                let index = index.with_context(|| format!("I2: nothing refers to {id:?}"))?;
                ensure!(*ttl_ms == -1, "I2: {id:?} is in {index} and will expire");
                bytes += raw.len();
                check_job(&job, index).with_context(|| format!("{id:?}"))?;
            }
            Record::Ended(completion) => {
                ensure!(index.is_none(), "I1: {id:?} has ended and is in {}", index.unwrap_or_default());
                ensure!(
                    (*ttl_ms == -1) == completion.until.is_none(),
                    "the completion record {completion:?} of {id:?} expires in {ttl_ms}"
                );
            }
        }
    }
    ensure!(placed.is_empty(), "I2: no body behind {placed:?}");
    ensure!(bytes == state.bytes, "I3: {bytes} bytes of records, {} counted", state.bytes);
    ensure!(state.strangers.is_empty(), "keys of no known kind: {:?}", state.strangers);
    let markers = u64::try_from(state.markers.len())?;
    ensure!(markers <= MARKERS_MAX && state.markers.iter().all(|score| *score <= 0.0), "{:?}", state.markers);
    Ok(())
}

fn check_job(job: &Job, index: &str) -> Result<()> {
    ensure!(job.token.is_some() == (index == "leased"), "I4: token {:?} in {index}", job.token);
    ensure!(!job.started || index == "leased", "started in {index}");
    ensure!(!job.shielded || index == "leased", "shielded in {index}");
    ensure!(!job.alone || index != "dead", "alone in {index}");
    let own = format!("due:{}", job.spec.priority as u8);
    ensure!(!index.starts_with("due") || index == own, "{:?} in {index}", job.spec.priority);
    if let Retries::Limited(retries) = job.spec.retries {
        let most = if index == "dead" { retries.saturating_add(1) } else { retries };
        let spared = if job.spec.version.is_some() { spared_crashes(job, index == "dead") } else { 0 };
        let most = most.saturating_add(spared);
        ensure!(job.errors <= most, "I6: {} errors with {retries} retries in {index}, {spared} spared", job.errors);
    }
    Ok(())
}

/// Crashes that may not have killed a job whose row decides: it waits after each, and its next start asks the row. They are
/// the latest of its errors, except the one that made it dead.
fn spared_crashes(job: &Job, is_dead: bool) -> u16 {
    let since_redrive = job.spec.notes.iter().rev().take_while(|note| !matches!(note, Note::Redriven { .. }));
    let errors = since_redrive.filter_map(|note| if let Note::Error(error) = note { Some(error.class) } else { None });
    let mut errors = errors.filter(|class| *class != ErrorClass::LeaseExpired).peekable();
    errors.next_if(|class| is_dead && *class != ErrorClass::Crashed);
    let crashes = errors.take_while(|class| *class == ErrorClass::Crashed).count();
    u16::try_from(crashes).unwrap_or(u16::MAX)
}

/// The keys of a shard.
struct Dump {
    indexes: Vec<BTreeSet<Bytes>>,
    records: BTreeMap<Bytes, (Bytes, i64)>,
    bytes: usize,
    markers: Vec<f64>,
    strangers: Vec<String>,
}

impl Dump {
    async fn read(link: &Link, shard: &Shard) -> Result<Self> {
        let tag = shard.tag();
        let mut dump = Self {
            indexes: Vec::new(),
            records: BTreeMap::new(),
            bytes: ask::<Option<usize>>(link, tag, cmd("HGET").arg(format!("{tag}:meta")).arg("bytes"))
                .await?
                .unwrap_or(0),
            markers: Vec::new(),
            strangers: Vec::new(),
        };
        for index in INDEXES {
            let ids = cmd("ZRANGE").arg(format!("{tag}:{index}")).arg(0).arg(-1).clone();
            let ids: Vec<Vec<u8>> = ask(link, tag, &ids).await?;
            dump.indexes.push(ids.into_iter().map(Bytes::from).collect());
        }
        let wake = cmd("ZRANGE").arg(format!("{tag}:wake")).arg(0).arg(-1).arg("WITHSCORES").clone();
        let wake: Vec<(String, f64)> = ask(link, tag, &wake).await?;
        dump.markers = wake.into_iter().map(|(_, score)| score).collect();
        let keys: Vec<Vec<u8>> = keys(link, tag).await?.into_iter().collect();
        for page in keys.chunks(KEYS_AT_ONCE) {
            let mut read = pipe();
            for key in page {
                read.pttl(key);
                if name(key, tag)?.starts_with(b"job:") {
                    read.get(key)
                } else {
                    read.exists(key)
                };
            }
            let answers = link.pipeline(tag.as_bytes(), &read).await?;
            for (key, answers) in page.iter().zip(answers.chunks(2)) {
                dump.note(key, name(key, tag)?, &answers[0], &answers[1])?;
            }
        }
        Ok(dump)
    }

    fn note(&mut self, key: &[u8], name: &[u8], ttl_ms: &Value, value: &Value) -> Result<()> {
        let ttl_ms: i64 = from_redis_value(ttl_ms.clone())?;
        if let Some(id) = name.strip_prefix(b"job:") {
            let raw: Vec<u8> = from_redis_value(value.clone())?;
            self.records.insert(Bytes::copy_from_slice(id), (raw.into(), ttl_ms));
        } else if name.starts_with(b"unique:") || name.starts_with(b"redrive:") {
            ensure!(ttl_ms > 0, "{} never expires", String::from_utf8_lossy(key));
        } else if !name.starts_with(b"leaving:") && !INDEXES.iter().chain(&OTHERS).any(|known| known.as_bytes() == name)
        {
            self.strangers.push(String::from_utf8_lossy(key).into_owned());
        }
        Ok(())
    }
}

/// What a key is called within its shard.
fn name<'a>(key: &'a [u8], tag: &str) -> Result<&'a [u8]> {
    key.strip_prefix(format!("{tag}:").as_bytes()).context("a key of another shard")
}

async fn keys(link: &Link, tag: &str) -> Result<BTreeSet<Vec<u8>>> {
    let (mut keys, mut cursor) = (BTreeSet::new(), 0_u64);
    loop {
        let scan = cmd("SCAN").arg(cursor).arg("MATCH").arg(format!("{tag}*")).arg("COUNT").arg(1_000).clone();
        let (next, page): (u64, Vec<Vec<u8>>) = ask(link, tag, &scan).await?;
        keys.extend(page);
        cursor = next;
        if cursor == 0 {
            return Ok(keys);
        }
    }
}

async fn ask<T: FromRedisValue>(link: &Link, tag: &str, cmd: &Cmd) -> Result<T> {
    Ok(from_redis_value(link.command(tag.as_bytes(), cmd).await?)?)
}
