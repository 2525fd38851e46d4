//! Every setting of the link at zero, one, its bounds, just above them, and at its largest: it works, or is refused in a sentence.

use super::harness::{cmd, link, server};
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkError, LinkOptions, Tracking};
use std::time::Duration;

/// Changes options.
pub(super) type Change = Box<dyn Fn(&mut LinkOptions)>;

/// Changes of the default options, which begin with the name of the option, and whether a link opens with one of them.
pub(super) fn changes() -> Vec<(String, bool, Change)> {
    let mut all: Vec<(String, bool, Change)> = Vec::new();
    let ms = Duration::from_millis;
    for span in [Duration::ZERO, Duration::from_nanos(1), ms(9), ms(10), ms(u64::MAX), Duration::MAX] {
        let works = span >= ms(10);
        // As short as may be, a busy machine may not answer in time; that is another test's.
        if span != ms(10) {
            all.push((format!("connect {span:?}"), works, Box::new(move |to| to.connect_timeout = span)));
            all.push((format!("response {span:?}"), works, Box::new(move |to| to.response_timeout = span)));
        }
        all.push((format!("heartbeat {span:?}"), works, Box::new(move |to| to.heartbeat = span)));
        all.push((format!("loading {span:?}"), true, Box::new(move |to| to.loading_max = span)));
    }
    for count in [0, 1, 64, 65, usize::MAX] {
        let works = (1..=64).contains(&count);
        all.push((format!("connections {count}"), works, Box::new(move |to| to.connections = count)));
        all.push((format!("in_flight_max {count}"), count > 0, Box::new(move |to| to.in_flight_max = count)));
    }
    for count in [0, 1, u32::MAX] {
        let change: Change = Box::new(move |to| to.silent_timeouts_max = count);
        all.push((format!("silent_timeouts_max {count}"), count > 0, change));
    }
    for (prefix, works) in [("", false), (" ", false), ("a{b", false), ("a\nb", false), ("a", true), ("a:b*?[", true)] {
        all.push((format!("prefix {prefix:?}"), works, Box::new(move |to| prefix.clone_into(&mut to.prefix))));
    }
    all.push(("prefix of 1 MiB".to_owned(), true, Box::new(|to| to.prefix = "x".repeat(1 << 20))));
    for tracking in [Tracking::Keys, Tracking::Broadcast, Tracking::Off] {
        all.push((format!("tracking {tracking:?}"), true, Box::new(move |to| to.tracking = tracking)));
    }
    all
}

// shows: hazard AL9
#[tokio::test]
async fn extreme_settings_work_or_are_rejected() -> Result<()> {
    let redis = server().await?;
    for (what, works, change) in changes() {
        let mut options = LinkOptions::from_url(&redis.url())?;
        change(&mut options);
        match Link::connect(options, Clock::system()).await {
            Ok(link) => {
                assert!(works, "{what}");
                link.command(b"k", &cmd(&["SET", "k", &what])).await?;
                assert_eq!(link.get(b"k").await?.as_deref(), Some(what.as_bytes()));
                link.shutdown(Duration::MAX).await;
            }
            Err(error) => assert!(matches!(error, LinkError::Options(_)) && !works, "{what}: {error}"),
        }
    }
    Ok(())
}

/// The sum of two timeouts overflowed.
// shows: hazard AL9
#[tokio::test]
async fn blocking_command_accepts_an_endless_wait() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let mut blocking = link.blocking().await?;
    link.command(b"queue", &cmd(&["RPUSH", "queue", "job"])).await?;
    let popped = blocking.command(&cmd(&["BLPOP", "queue", "0"]), Duration::MAX).await?;
    let popped: (String, String) = redis::from_redis_value(popped)?;
    assert_eq!(popped.1, "job");
    blocking.command(&cmd(&["PING"]), Duration::ZERO).await?;
    Ok(())
}
