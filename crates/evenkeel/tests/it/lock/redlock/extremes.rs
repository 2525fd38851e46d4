//! A Redlock's own settings at zero, one, their bounds, just above them, and at their largest: they work, or are refused in a sentence.

use crate::lock::side::rig::in_time;
use evenkeel::Keel;
use evenkeel::lock::{LockError, Redlock, RedlockBuilder, ReleaseOutcome, Wait};
use std::time::Duration;
use testkit::park::redis;

/// Turns a builder into another.
pub(super) type Change = Box<dyn Fn(RedlockBuilder) -> RedlockBuilder>;

/// Numbers of servers, of which 3 to 15 are possible.
pub(super) const SERVERS: [usize; 7] = [0, 1, 2, 3, 15, 16, usize::MAX];

/// Changes of a builder, and whether a Redlock opens with one of them.
pub(super) fn changes() -> Vec<(String, bool, Change)> {
    let ms = Duration::from_millis;
    let longest = ms(u64::from(u32::MAX));
    let mut all: Vec<(String, bool, Change)> = Vec::new();
    for span in [Duration::ZERO, Duration::from_nanos(1), ms(49), ms(50), longest, longest + ms(1), Duration::MAX] {
        let works = span >= ms(50) && span <= longest;
        all.push((format!("ttl_max {span:?}"), works, Box::new(move |to| to.ttl_max(span))));
        // With a timeout between these a busy machine may not reply in time.
        if span >= ms(49) || span < ms(1) {
            let works = span >= ms(1);
            all.push((format!("node_timeout {span:?}"), works, Box::new(move |to| to.node_timeout(span))));
        }
    }
    all
}

async fn verdict(what: &str, works: bool, opened: Result<Redlock, LockError>) {
    match opened {
        Ok(redlock) => {
            assert!(works, "{what}");
            let guard = redlock.lock("a").ttl(Duration::from_millis(50)).wait(Wait::No).acquire().await;
            // A lease of 50 ms may be over before it can be used.
            if let Ok(guard) = guard {
                assert_ne!(guard.release().await.unwrap(), ReleaseOutcome::Unconfirmed, "{what}");
            }
            redlock.shutdown(Duration::MAX).await;
        }
        Err(error) => assert!(matches!(error, LockError::Invalid(_)) && !works, "{what}: {error}"),
    }
}

/// The longest ttl, doubled, overflowed: the builder panicked.
// shows: hazard AL9
#[tokio::test]
async fn extreme_redlock_settings_work_or_are_rejected() {
    in_time(Box::pin(async {
        let shared = redis().await.unwrap();
        for (at, (what, works, change)) in changes().into_iter().enumerate() {
            let builder = change(Redlock::builder().node_timeout(Duration::from_secs(5)));
            verdict(&what, works, builder.memory(3)).await;
            let join = if shared.url.contains('?') { '&' } else { '?' };
            let urls: Vec<String> =
                (0..3).map(|server| format!("{}{join}prefix={}x{at}x{server}", shared.url, shared.prefix)).collect();
            let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
            verdict(&what, works, builder.connect(&urls).await).await;
        }
        for servers in SERVERS {
            verdict(&format!("{servers} servers"), (3..=15).contains(&servers), Redlock::memory(servers)).await;
        }
        let error = Redlock::connect(&[]).await.map(drop).unwrap_err();
        assert!(matches!(error, LockError::Invalid(_)), "{error}");
    }))
    .await;
}

/// One server, given three times, was a Redlock of three that all went away together.
// shows: hazard T26
#[tokio::test]
async fn server_that_is_given_twice_is_refused() {
    let shared = redis().await.unwrap();
    let join = if shared.url.contains('?') { '&' } else { '?' };
    let url = |prefix: &str| format!("{}{join}prefix={}{prefix}", shared.url, shared.prefix);
    let (one, two) = (url("one"), url("two"));
    for urls in [[&one, &one, &one], [&one, &two, &one]] {
        let urls = urls.map(String::as_str);
        for opened in [Redlock::connect(&urls).await, Redlock::connect_lazy(&urls).await] {
            let Err(LockError::Invalid(text)) = opened else { panic!("{urls:?} are a Redlock") };
            assert!(text.contains("was given twice") && text.contains("name each server once"), "{text}");
        }
    }
}

/// A value that another program had stored under the key of a server's status excluded that server forever.
// shows: hazard AL8
#[tokio::test]
async fn foreign_key_types_do_not_exclude_a_server() {
    in_time(Box::pin(async {
        let shared = redis().await.unwrap();
        let hand = Keel::connect(&shared.url).await.unwrap();
        let prefixes: Vec<String> = (0..3).map(|server| format!("{}y{server}", shared.prefix)).collect();
        let join = if shared.url.contains('?') { '&' } else { '?' };
        let urls: Vec<String> = prefixes.iter().map(|prefix| format!("{}{join}prefix={prefix}", shared.url)).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let ttl = Duration::from_millis(200);
        let builder = Redlock::builder().ttl_max(ttl).node_timeout(Duration::from_secs(5));
        let redlock = builder.connect(&urls).await.unwrap();
        for key in [":redlock", ":l:{a}:lock", ":l:{a}:fence", ":l:{a}:waiters"] {
            let key = format!("{}{key}", prefixes[0]);
            // In one step, because the Redlock checks its servers concurrently.
            let put = "redis.call('DEL', KEYS[1]) return redis.call('RPUSH', KEYS[1], 'a')";
            let put = redis::cmd("EVAL").arg(put).arg(1).arg(&key).clone();
            hand.link().unwrap().command(key.as_bytes(), &put).await.unwrap();
        }
        let guard = redlock.lock("a").ttl(ttl).wait(Wait::Forever).acquire().await.unwrap();
        guard.release().await.unwrap();
        while !redlock.assemble().await {
            tokio::task::yield_now().await;
        }
        let guard = redlock.lock("a").ttl(ttl).wait(Wait::Forever).acquire().await.unwrap();
        guard.release().await.unwrap();
    }))
    .await;
}
