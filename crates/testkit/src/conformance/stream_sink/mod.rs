//! What every backend of the stream sink must do.
//!
//! [`stream_sink_suite`](crate::stream_sink_suite) makes a test of each for one backend.

mod rig;

pub use rig::{DEDUPLICATION_MS, RULE, Rig, ordered, unordered};

use anyhow::Result;
use bytes::Bytes;
use evenkeel::sql::sink::stream::Limit;
use evenkeel::sql::sink::{Envelope, Order};
use evenkeel::testing::streams::{Appended, Rule, StreamSteps};

/// Makes a test of every function of the suite: `stream_sink_suite!(rig)`, where `rig` is an async function that answers
/// `anyhow::Result<Rig<_>>`.
#[macro_export]
macro_rules! stream_sink_suite {
    ($rig:path) => {
        $crate::stream_sink_suite!($rig:
            sequence_is_accepted_once, sequences_are_per_key_source_and_topic, unordered_messages_are_always_appended,
            full_stream_rejects_messages, stream_is_trimmed_only_if_configured, appended_message_is_read_back,
            sequence_expires_after_the_last_message, large_sequences_are_compared_exactly,
        );
    };
    ($rig:path: $($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() -> anyhow::Result<()> {
                $crate::conformance::stream_sink::$name(&$rig().await?).await
            }
        )*
    };
}

fn is_entry(appended: &Appended) -> bool {
    matches!(appended, Appended::Entry(_))
}

/// A relay that was paused beyond the expiry of its claim published messages that another relay had published long before, and
/// readers received old messages again.
// shows: U3, hazard O6, sql::StreamSink, sql::StreamSteps::append
pub async fn sequence_is_accepted_once<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    let answers = rig.streams.append(RULE, &[ordered("a", 1), ordered("a", 2), ordered("a", 3)]).await?;
    assert!(answers.iter().all(is_entry), "{answers:?}");
    for late in [2, 3, 1] {
        assert_eq!(rig.append(RULE, ordered("a", late)).await?, Appended::Seen);
    }
    let again = rig.streams.append(RULE, &[ordered("a", 3), ordered("a", 4), ordered("a", 4)]).await?;
    assert!(again[0] == Appended::Seen && is_entry(&again[1]) && again[2] == Appended::Seen, "{again:?}");
    assert_eq!(rig.ids("links").await?, ["a1", "a2", "a3", "a4"]);
    Ok(())
}

/// Two services with databases of their own publish to one topic, and each counts from one.
// shows: sql::StreamSink, sql::StreamSteps::append
pub async fn sequences_are_per_key_source_and_topic<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    let other_source = |mut message: Envelope| {
        message.source = "stock".to_owned();
        message
    };
    let of = |source: &str, key: &str| Envelope {
        source: source.to_owned(),
        order: Some(Order { key: key.to_owned(), sequence: 1 }),
        ..unordered("x")
    };
    for message in [ordered("a", 1), ordered("b", 1), other_source(ordered("a", 1)), of("a", "b:c"), of("a:b", "c")] {
        assert!(is_entry(&rig.append(RULE, message).await?));
    }
    let elsewhere = Envelope { topic: "li}nks{%".to_owned(), ..ordered("a", 1) };
    assert!(is_entry(&rig.append(RULE, elsewhere).await?));
    assert_eq!(rig.ids("links").await?.len(), 5);
    assert_eq!(rig.ids("li}nks{%").await?, ["a1"]);
    Ok(())
}

/// A message without an order is never treated as a duplicate.
// shows: sql::StreamSink
pub async fn unordered_messages_are_always_appended<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    for _ in 0..2 {
        assert!(is_entry(&rig.append(RULE, unordered("u")).await?));
    }
    assert_eq!(rig.ids("links").await?, ["u", "u"]);
    Ok(())
}

/// A published relay trimmed its stream with `MAXLEN ~`, and a reader that was away for an hour lost the trimmed messages. A limit
/// rejects messages instead, and a rejected message is not recorded as seen.
pub async fn full_stream_rejects_messages<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    let rule = Rule { limit: Limit::Refuse(2), ..RULE };
    let answers =
        rig.streams.append(rule, &[ordered("a", 1), ordered("b", 1), ordered("a", 2), ordered("c", 1)]).await?;
    assert!(is_entry(&answers[0]) && is_entry(&answers[1]), "{answers:?}");
    assert_eq!(answers[2..], [Appended::Full, Appended::Full]);
    assert_eq!(rig.append(rule, ordered("a", 1)).await?, Appended::Seen, "a copy needs no room");
    assert!(is_entry(&rig.append(RULE, ordered("a", 2)).await?));
    assert_eq!(rig.ids("links").await?, ["a1", "b1", "a2"]);
    Ok(())
}

/// The oldest entries are trimmed only if configured.
pub async fn stream_is_trimmed_only_if_configured<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    for sequence in 1..=300 {
        rig.append(RULE, ordered("a", sequence)).await?;
    }
    assert_eq!(rig.ids("links").await?.len(), 300);
    let trimming = Rule { limit: Limit::TrimOldest(10), ..RULE };
    rig.append(trimming, ordered("a", 301)).await?;
    let left = rig.ids("links").await?;
    // Redis trims whole nodes of a hundred entries.
    assert!((10..=110).contains(&left.len()), "{} entries", left.len());
    assert_eq!(left.last().map(String::as_str), Some("a301"));
    Ok(())
}

/// Every part of a message comes back byte for byte, page by page.
// shows: sql::StreamSink::entries, sql::StreamSteps::entries
pub async fn appended_message_is_read_back<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    let first = Envelope {
        payload: Bytes::from_static(b"\0\xff\r\n"),
        headers: vec![("traceparent".to_owned(), "00-1-2-03".to_owned()), ("traceparent".to_owned(), "é".to_owned())],
        ..ordered("käse", 7)
    };
    let second = unordered("");
    rig.streams.append(RULE, &[first.clone(), second.clone()]).await?;
    let page = rig.streams.entries("links", None, 1).await?;
    assert_eq!(page[0].message, first);
    let rest = rig.streams.entries("links", Some(&page[0].entry_id), 10).await?;
    assert_eq!(rest.into_iter().map(|entry| entry.message).collect::<Vec<_>>(), [second]);
    assert!(rig.streams.entries("nothing", None, 10).await?.is_empty());
    Ok(())
}

/// A key that had its last message long ago takes no memory any more.
// shows: sql::StreamSink
pub async fn sequence_expires_after_the_last_message<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    rig.append(RULE, ordered("a", 1)).await?;
    rig.time.advance(DEDUPLICATION_MS - 1).await?;
    assert_eq!(rig.append(RULE, ordered("a", 1)).await?, Appended::Seen);
    rig.time.advance(1).await?;
    assert!(is_entry(&rig.append(RULE, ordered("a", 1)).await?));
    Ok(())
}

/// As text `9` is above `10`; as a float 2^53 equals its neighbor.
// shows: sql::StreamSink, sql::StreamSteps::append
pub async fn large_sequences_are_compared_exactly<S: StreamSteps>(rig: &Rig<S>) -> Result<()> {
    let large = (1_u64 << 53) - 2;
    for sequence in [9, 10, large, large + 1] {
        assert!(is_entry(&rig.append(RULE, ordered("a", sequence)).await?), "{sequence}");
        assert_eq!(rig.append(RULE, ordered("a", sequence)).await?, Appended::Seen, "{sequence}");
    }
    Ok(())
}
