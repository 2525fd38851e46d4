//! The sink over a real NATS with JetStream.

use anyhow::Result;
use async_nats::jetstream;
use evenkeel::sql::sink::{Confirmed, Envelope, NatsSink, Sink, SinkError, Sinks};
use testkit::conformance::stream_sink::{ordered, unordered};
use testkit::eventually;
use testkit::servers::Nats;

/// A server with a stream that takes `shop.>`.
async fn shop() -> Result<(Nats, NatsSink, jetstream::Context)> {
    let nats = Nats::start().await?;
    let sink = NatsSink::connect(&nats.url()).await?.subject_prefix("shop.");
    let context = jetstream::new(async_nats::connect(nats.url()).await?);
    let stream = jetstream::stream::Config {
        name: "SHOP".to_owned(),
        subjects: vec!["shop.>".to_owned()],
        ..Default::default()
    };
    context.create_stream(stream).await?;
    Ok((nats, sink, context))
}

/// What the stream holds, oldest first: subject, key and sequence, payload.
async fn held(context: &jetstream::Context) -> Result<Vec<(String, Option<String>, Vec<u8>)>> {
    let stream = context.get_stream("SHOP").await?;
    let mut held = Vec::new();
    for number in 1..=stream.cached_info().state.last_sequence {
        let message = stream.get_raw_message(number).await?;
        let order = message.headers.get("Evenkeel-Key").zip(message.headers.get("Evenkeel-Sequence"));
        let order = order.map(|(key, sequence)| format!("{key}/{sequence}"));
        held.push((message.subject.to_string(), order, message.payload.to_vec()));
    }
    Ok(held)
}

/// A copy within the window of the stream is dropped by the server; what belongs to another key or topic is none.
// shows: U3, hazard O6, sql::NatsSink
#[tokio::test]
async fn nats_drops_a_duplicate() -> Result<()> {
    let (_nats, sink, context) = shop().await?;
    let elsewhere = Envelope { topic: "links.a".to_owned(), ..ordered("b", 1) };
    let messages = [ordered("a", 1), ordered("b", 1), ordered("a", 2), unordered("u"), elsewhere];
    assert_eq!(sink.publish_all(&messages).await, vec![Ok(Confirmed::Accepted); 5]);
    assert_eq!(sink.publish_all(&messages).await, vec![Ok(Confirmed::Duplicate); 5]);
    let held = held(&context).await?;
    assert_eq!(held.len(), 5);
    let of_a: Vec<_> =
        held.iter().filter_map(|(_, order, _)| order.as_deref()).filter(|order| order.starts_with('a')).collect();
    assert_eq!(of_a, ["a/1", "a/2"]);
    assert!(held.iter().all(|(_, _, payload)| payload == b"payload"));
    Ok(())
}

/// A message that can never be sent is distinguished from one that can be sent later, and holds only its own key.
// shows: sql::Sink::publish
#[tokio::test]
async fn message_that_nats_cannot_store_is_poison() -> Result<()> {
    let (_nats, sink, _context) = shop().await?;
    let no_subject = Envelope { topic: "two words".to_owned(), ..ordered("a", 1) };
    let behind = Envelope { topic: "two words".to_owned(), ..ordered("a", 2) };
    let header = Envelope { headers: vec![("note".to_owned(), "two\r\nlines".to_owned())], ..unordered("u") };
    let large = Envelope { payload: vec![0; 2 << 20].into(), ..unordered("v") };
    let answers = sink.publish_all(&[no_subject, behind, header, large, ordered("b", 1)]).await;
    let poison = |answer: &Result<Confirmed, SinkError>| answer.as_ref().is_err_and(SinkError::is_poison);
    assert!(poison(&answers[0]) && poison(&answers[2]) && poison(&answers[3]), "{answers:?}");
    assert_eq!((&answers[1], &answers[4]), (&Err(SinkError::Held), &Ok(Confirmed::Accepted)));
    Ok(())
}

/// A subject without a stream costs no attempts: an operator has to create the stream.
#[tokio::test]
async fn missing_stream_uses_no_attempts() -> Result<()> {
    let (nats, _sink, _context) = shop().await?;
    let sink = NatsSink::connect(&nats.url()).await?.subject_prefix("elsewhere.");
    assert!(matches!(sink.publish(&unordered("u")).await, Err(SinkError::Busy(_))));
    Ok(())
}

/// A subject that NATS cannot have is permanently rejected, whatever its length, and the connection continues.
// shows: hazard A27
#[tokio::test]
async fn extreme_subjects_are_accepted_or_rejected() -> Result<()> {
    let (nats, sink, _context) = shop().await?;
    for prefix in ["", " ", "shop.\0", "shop..", ".", "shop.>", "shop.*", "shop.\r\nPUB ", &"x".repeat(1 << 20)] {
        let other = NatsSink::connect(&nats.url()).await?.subject_prefix(prefix);
        let answer = other.publish(&unordered(&prefix[..prefix.len().min(9)].replace(char::is_control, "c"))).await;
        assert!(!matches!(answer, Ok(Confirmed::Duplicate) | Err(SinkError::Held)), "{prefix:?}: {answer:?}");
    }
    assert_eq!(sink.publish(&ordered("a", 1)).await, Ok(Confirmed::Accepted));
    Ok(())
}

/// The sink reconnects to a broker that was killed and restarted, which drops a duplicate of what it had.
// shows: sql::NatsSink
#[tokio::test]
async fn sink_reconnects_to_a_restarted_broker() -> Result<()> {
    let (mut nats, sink, context) = shop().await?;
    assert_eq!(sink.publish(&ordered("a", 1)).await, Ok(Confirmed::Accepted));
    nats.kill()?;
    let sinks = Sinks::to(sink.clone());
    let away = sinks.publish_all(&[ordered("a", 2)]).await;
    assert!(matches!(away.as_slice(), [Err(error)] if error.is_unavailable()), "{away:?}");
    nats.restart().await?;
    let sent = || async { sink.publish(&ordered("a", 2)).await.ok() };
    eventually("the broker takes messages again", sent).await?;
    assert_eq!(sink.publish(&ordered("a", 1)).await, Ok(Confirmed::Duplicate));
    let orders: Vec<_> = held(&context).await?.into_iter().filter_map(|(_, order, _)| order).collect();
    assert_eq!(orders, ["a/1", "a/2"]);
    Ok(())
}
