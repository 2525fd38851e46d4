//! What is there at the end: entries, jobs and messages, as their servers hold them.

use super::super::rig::Sql;
use super::copies::Arrival;
use super::servers::{BROKER, BROKER_STREAM, CARRIER, NOTED, Servers, Shop, name};
use super::worker::load;
use async_nats::jetstream;
use evenkeel::cache::{Freshness, Tier};
use evenkeel::queue::JobId;
use evenkeel_protocol::queue::job::Priority;
use evenkeel_protocol::queue::steps::{Found, List, Listed, ReadJobs, ReadStats, State};
use futures_util::stream::{self, StreamExt};
use std::collections::{BTreeMap, HashMap};

/// Entries and jobs that are asked for at once.
const AT_ONCE: usize = 64;
const PAGE: usize = 500;

/// Messages that were found.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Of each key, the numbers in the order in which a reader that drops duplicates by their sequence sees them.
    pub(super) ordering_keys: HashMap<String, Vec<i64>>,
    /// Ordered messages whose sequence their key had already had.
    pub(super) ordered_copies: u64,
    /// Unordered messages, each with its copies.
    pub(super) loose: BTreeMap<i64, Vec<Arrival>>,
    last: HashMap<String, u64>,
}

impl Sent {
    fn take(&mut self, order: Option<(&str, u64)>, payload: &[u8], arrival: Arrival) {
        let number = String::from_utf8_lossy(payload).parse().unwrap();
        match order {
            None => self.loose.entry(number).or_default().push(arrival),
            Some((ordering_key, sequence)) => {
                let last = self.last.entry(ordering_key.to_owned()).or_default();
                if sequence <= *last {
                    self.ordered_copies += 1;
                    return;
                }
                *last = sequence;
                self.ordering_keys.entry(ordering_key.to_owned()).or_default().push(number);
            }
        }
    }
}

/// The units of each account that is in its cache's store now; others are absent.
pub(super) async fn entries<DB: Sql>(servers: &Servers<DB>, shop: &Shop) -> HashMap<String, i64> {
    let found = stream::iter(0..servers.open.accounts).map(|account| async move {
        let (key, cache) = (name("accounts", account), shop.cache(account));
        let load = load::<DB>(servers.pool.clone(), key.clone());
        let found = Box::pin(cache.get_with(&key, Freshness::Eventual, |_| load)).await.unwrap();
        let units = found.value.map(|value| value.0).filter(|_| found.tier == Tier::Store);
        units.map(|units| (key, units))
    });
    found.buffer_unordered(AT_ONCE).filter_map(std::future::ready).collect().await
}

/// The bodies of all jobs that wait.
pub(super) async fn jobs(shop: &Shop) -> HashMap<JobId, i64> {
    let (steps, shard) = shop.queue.steps(&JobId([0; 16]));
    let mut jobs = HashMap::new();
    let mut after: Option<Listed> = None;
    loop {
        let list = List { after, ..List::first(State::Waiting(Priority::Normal), PAGE) };
        let page = steps.run(&shard, &list).await.unwrap();
        let ids: Vec<JobId> = page.iter().map(|listed| listed.id).collect();
        for (id, found) in ids.iter().zip(steps.run(&shard, &ReadJobs(ids.clone())).await.unwrap()) {
            let Some(Found::Live { job, .. }) = found.unwrap() else { panic!("{id} is listed, and not there") };
            jobs.insert(*id, serde_json::from_slice(&job.spec.body).unwrap());
        }
        if page.len() < PAGE {
            break;
        }
        after = page.last().copied();
    }
    let stats = steps.run(&shard, &ReadStats).await.unwrap();
    assert_eq!(stats.waiting.iter().sum::<u64>() + stats.leased + stats.dead, jobs.len() as u64, "all jobs wait");
    jobs
}

/// The messages in the streams of Redis and at the broker.
pub(super) async fn messages<DB: Sql>(servers: &Servers<DB>, shop: &Shop) -> Sent {
    let mut sent = Sent::default();
    for topic in ["said", "loose"] {
        let mut after: Option<String> = None;
        loop {
            let page = shop.stream.entries(topic, after.as_deref(), PAGE).await.unwrap();
            for entry in &page {
                let at_ms = entry.entry_id.split_once('-').unwrap().0.parse().unwrap();
                let headers = &entry.message.headers;
                let header = |name: &str| headers.iter().find(|(found, _)| found == name).map(|(_, value)| &**value);
                let order = entry.message.order.as_ref().map(|order| (order.key.as_str(), order.sequence));
                sent.take(order, &entry.message.payload, arrival(at_ms, header));
            }
            if page.len() < PAGE {
                break;
            }
            after = page.last().map(|entry| entry.entry_id.clone());
        }
    }
    at_the_broker(servers, &mut sent).await;
    sent
}

async fn at_the_broker<DB: Sql>(servers: &Servers<DB>, sent: &mut Sent) {
    let context = jetstream::new(async_nats::connect(servers.broker.url()).await.unwrap());
    let stream = context.get_stream(BROKER_STREAM).await.unwrap();
    let last = stream.cached_info().state.last_sequence;
    let stream = &stream;
    let messages = stream::iter(1..=last).map(|number| async move { stream.get_raw_message(number).await.unwrap() });
    let messages: Vec<_> = messages.buffered(AT_ONCE).collect().await;
    for message in messages {
        assert!(message.subject.starts_with(BROKER), "{}", message.subject);
        let header = |name: &str| message.headers.get(name).map(|value| value.as_str());
        let order = header("Evenkeel-Key").zip(header("Evenkeel-Sequence"));
        let order = order.map(|(key, sequence)| (key, sequence.parse().unwrap()));
        let at_ms = u64::try_from(message.time.unix_timestamp_nanos() / 1_000_000).unwrap();
        sent.take(order, &message.payload, arrival(at_ms, header));
    }
}

fn arrival<'a>(at_ms: u64, header: impl Fn(&'a str) -> Option<&'a str>) -> Arrival {
    let carrier = header(CARRIER).unwrap().parse().unwrap();
    // Ordered messages do not say it: what counts there is their sequence.
    let noted_ms = header(NOTED).map_or(at_ms, |noted| noted.parse().unwrap());
    Arrival { noted_ms, at_ms, carrier }
}
