//! Random misuse of links: options at their extremes in any combination, and commands with arguments of any size and number.

use super::extremes::changes;
use super::harness::{cmd, server};
use crate::robustness::Round;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkError, LinkOptions, Notification, Script};
use futures_util::future::join_all;
use redis::{Pipeline, Value};
use std::collections::BTreeMap;
use std::time::Duration;

static STORE: Script = Script::new("store-1", "redis.call('SET', KEYS[1], ARGV[1]) return #ARGV[1]");

const URL_OPTIONS: [&str; 6] = [
    "connections",
    "connect_timeout_ms",
    "response_timeout_ms",
    "silent_timeouts_max",
    "in_flight_max",
    "heartbeat_ms",
];
const NUMBERS: [&str; 9] = ["", "-1", "0", "1", "1.5", "9", "64", "18446744073709551615", "18446744073709551616"];
const SIZES: [usize; 7] = [0, 1, 1, 255, 256, 65_536, 1 << 20];
const COUNTS: [usize; 6] = [0, 1, 2, 64, 65, 10_001];
/// A busy machine may not reply earlier.
const PATIENCE: Duration = Duration::from_secs(15);
const SPANS: [Duration; 5] =
    [Duration::ZERO, Duration::from_nanos(1), PATIENCE, Duration::from_millis(u64::MAX), Duration::MAX];

/// Links with up to five options drawn from the table of extremes, then commands: what is accepted is answered.
pub(crate) async fn extremes(mut round: Round) {
    let redis = server().await.unwrap();
    let mut stored = BTreeMap::new();
    for number in 0..6 {
        let (options, what, works) = if round.chance(30) {
            let Some((options, what)) = from_url(&mut round, &redis.url()) else { continue };
            (options, what, true)
        } else {
            changed(&mut round, LinkOptions::from_url(&redis.url()).unwrap())
        };
        let in_flight_max = options.in_flight_max;
        let opened = if round.chance(70) {
            Link::connect(options, Clock::system()).await
        } else {
            Link::connect_lazy(options, Clock::system()).await
        };
        let is_refusal = |error: &LinkError| matches!(error, LinkError::Options(_)) && !works;
        let Some(link) = round.result(format!("open: {what}"), opened, is_refusal) else { continue };
        assert!(works, "opened: {what}");
        let mut used = Used { link, name: format!("link-{number}"), in_flight_max, stored };
        for _ in 0..24 {
            used.call(&mut round).await;
        }
        for (key, size) in &used.stored {
            let found = used.link.get(key.as_bytes()).await.unwrap();
            assert!(found.as_deref() == Some(&value(*size)), "a value of {size} bytes under a key of {}", key.len());
            round.checked(1);
        }
        stored = used.stored;
        let deadline = *round.one(&SPANS);
        round.step(format!("shut down within {deadline:?}"));
        used.link.shutdown(deadline).await;
        let refused = used.link.get(b"k").await;
        assert!(matches!(refused, Err(LinkError::Down { .. })), "{refused:?}");
    }
}

/// Options with drawn changes, their names, and whether they are accepted: as if each of them were the only one.
fn changed(round: &mut Round, mut options: LinkOptions) -> (LinkOptions, String, bool) {
    (options.connect_timeout, options.response_timeout) = (PATIENCE, PATIENCE);
    let (table, mut works, mut names) = (changes(), BTreeMap::new(), Vec::new());
    for _ in 0..round.number(1, 5) {
        let (name, is_accepted, change) = round.one(&table);
        change(&mut options);
        // Of two changes of an option the last one counts.
        works.insert(name.split(' ').next().unwrap(), *is_accepted);
        names.push(name.as_str());
    }
    (options, names.join(", "), works.values().all(|works| *works))
}

/// Options of a URL with one to three drawn numbers.
fn from_url(round: &mut Round, url: &str) -> Option<(LinkOptions, String)> {
    let pairs = (0..round.number(1, 3)).map(|_| format!("{}={}", round.one(&URL_OPTIONS), round.one(&NUMBERS)));
    let query = pairs.collect::<Vec<_>>().join("&");
    let options = LinkOptions::from_url(&format!("{url}?{query}"));
    let is_refusal = |error: &LinkError| matches!(error, LinkError::Options(_));
    let mut options = round.result(format!("a URL with {query}"), options, is_refusal)?;
    options.connect_timeout = options.connect_timeout.max(PATIENCE);
    options.response_timeout = options.response_timeout.max(PATIENCE);
    Some((options, query))
}

/// The value of this size.
fn value(size: usize) -> Vec<u8> {
    vec![u8::try_from(size % 251).unwrap(); size]
}

/// No call of a link that is well is refused, unless its caller asked for that.
fn never(_: &LinkError) -> bool {
    false
}

/// A link, and the sizes of the values that it and those before it stored.
struct Used {
    link: Link,
    name: String,
    in_flight_max: usize,
    stored: BTreeMap<String, usize>,
}

impl Used {
    fn key(&self, round: &mut Round) -> String {
        let size = *round.one(&SIZES);
        if size == 0 { String::new() } else { format!("{}{}", self.name, "k".repeat(size)) }
    }

    async fn call(&mut self, round: &mut Round) {
        let (key, mut size, count) = (self.key(round), *round.one(&SIZES), *round.one(&COUNTS));
        if round.chance(1) {
            size = 20 << 20;
        }
        let (link, what) = (self.link.clone(), format!("a key of {}, a value of {size}", key.len()));
        let route = key.as_bytes();
        match round.number(0, 8) {
            0 | 1 => {
                let set = link.command(route, redis::cmd("SET").arg(&key).arg(value(size))).await;
                round.result(format!("set {what}"), set, never);
                self.stored.insert(key, size);
            }
            2 => {
                let ran = link.run::<usize>(&STORE, &[route], &[&value(size)]).await;
                assert_eq!(round.result(format!("run with {what}"), ran, never), Some(size));
                self.stored.insert(key, size);
            }
            3 => {
                // Of large keys and values fewer, so that a call takes a few megabytes at most.
                let bytes = key.len() + self.stored.get(&key).copied().unwrap_or(0) + 1;
                let count = count.min((4 << 20) / bytes);
                let found = link.get_tracked_many(&vec![route; count]).await;
                let found = round.result(format!("get a key of {} {count} times", key.len()), found, never).unwrap();
                assert_eq!(found.len(), count);
                let expected = self.stored.get(&key).map(|size| value(*size));
                assert!(
                    found.into_iter().all(|found| found.unwrap().value.as_deref() == expected.as_deref()),
                    "{what}"
                );
            }
            4 => pipeline(round, &link, route, count).await,
            5 => blocking(round, &link, &key, size).await,
            6 => {
                let timeout = *round.one(&SPANS);
                let found = link.with_response_timeout(timeout).get(route).await;
                let is_short = |error: &LinkError| matches!(error, LinkError::NoAnswer { .. }) && timeout < PATIENCE;
                round.result(format!("get a key of {} within {timeout:?}", key.len()), found, is_short);
            }
            7 => subscription(round, &link, &key, size).await,
            _ => self.at_once(round, count.min(1_000)).await,
        }
        round.checked(1);
    }

    /// Of calls at the same time as many as the option allows are answered, at least.
    async fn at_once(&self, round: &Round, count: usize) {
        let answers = join_all((0..count).map(|_| self.link.get(b"nothing"))).await;
        let answered = answers.iter().filter(|answer| answer.is_ok()).count();
        assert!(answered >= count.min(self.in_flight_max), "{answered} of {count}");
        let is_limit = |error: &LinkError| matches!(error, LinkError::Busy { limit } if *limit == self.in_flight_max);
        let refused: Vec<LinkError> = answers.into_iter().filter_map(Result::err).collect();
        assert!(refused.iter().all(is_limit), "{refused:?}");
        let call = format!("{count} calls at once, of which {answered} are answered");
        round.result(call, refused.into_iter().next().map_or(Ok(()), Err), is_limit);
    }
}

async fn pipeline(round: &mut Round, link: &Link, route: &[u8], count: usize) {
    let mut pipeline = Pipeline::new();
    for number in 0..count {
        pipeline.cmd("ECHO").arg(number);
    }
    let is_atomic = round.chance(20);
    if is_atomic {
        pipeline.atomic();
    }
    let answers = link.pipeline(route, &pipeline).await;
    let is_refusal = |error: &LinkError| matches!(error, LinkError::Options(_)) && is_atomic;
    let Some(answers) = round.result(format!("a pipeline of {count}"), answers, is_refusal) else { return };
    let numbers = (0..count).map(|number| Value::BulkString(number.to_string().into_bytes()));
    assert!(answers.into_iter().eq(numbers), "a pipeline of {count}");
}

async fn blocking(round: &mut Round, link: &Link, key: &str, size: usize) {
    let (block, list) = (*round.one(&SPANS), format!("list-{key}"));
    let mut blocking = round.result("open a connection that blocks", link.blocking().await, never).unwrap();
    link.command(list.as_bytes(), redis::cmd("RPUSH").arg(&list).arg(value(size))).await.unwrap();
    let popped = blocking.command(&cmd(&["BLPOP", &list, "0"]), block).await;
    let popped = round.result(format!("pop {size} bytes within {block:?}"), popped, never).unwrap();
    let (_, popped): (String, Vec<u8>) = redis::from_redis_value(popped).unwrap();
    assert!(popped == value(size), "{size}");
    let pong = blocking.command(&cmd(&["PING"]), block).await;
    round.result(format!("ping within {block:?}"), pong, never);
    assert!(blocking.is_open());
}

async fn subscription(round: &mut Round, link: &Link, channel: &str, size: usize) {
    let call = format!("subscribe to a channel of {} bytes", channel.len());
    let mut subscription = round.result(call, link.subscribe(channel.as_bytes()).await, never).unwrap();
    let publish = redis::cmd("SPUBLISH").arg(channel).arg(value(size)).clone();
    round.result(format!("publish {size} bytes"), link.command(channel.as_bytes(), &publish).await, never);
    loop {
        match subscription.next().await {
            Some(Notification::Message(message)) => {
                assert!(message[..] == value(size), "{size}");
                return;
            }
            Some(_) => {}
            None => panic!("the subscription ended"),
        }
    }
}
