//! The end of a link: by shutdown, or because the last handle was dropped.

use crate::link::harness::{begin, cmd, link, no_clients, server};
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::link::{LinkError, LinkState};
use std::pin::pin;
use std::time::Duration;

// shows: L10
#[tokio::test]
async fn last_handle_closes_everything() -> Result<()> {
    let redis = server().await?;
    let link = link(&format!("{}?connections=3", redis.url())).await?;
    let mut state = link.state();
    let other = link.clone();
    drop(link);
    assert_eq!(other.get(b"k").await?, None);
    // On a thread without a runtime: Drop needs none.
    std::thread::spawn(move || drop(other)).join().expect("dropping needs no runtime");
    state.wait_for(|state| *state == LinkState::Closed).await?;
    no_clients(&redis).await
}

// shows: L10
#[tokio::test]
async fn shutdown_completes_commands_in_flight() -> Result<()> {
    let redis = server().await?;
    let link = link(&redis.url()).await?;
    let write = cmd(&["SET", "k", "v"]);
    let mut writing = pin!(link.command(b"k", &write));
    assert!(!begin(writing.as_mut()));
    let (written, ()) = tokio::join!(writing, link.shutdown(Duration::from_secs(30)));
    written?;
    let error = link.get(b"k").await.unwrap_err();
    assert!(matches!(&error, LinkError::Down { reason, .. } if reason.contains("shut down")), "{error}");
    assert_eq!(redis.command::<String>(&["GET", "k"]).await?, "v");
    no_clients(&redis).await
}

#[tokio::test]
async fn shutdown_wait_is_bounded() -> Result<()> {
    let mut redis = server().await?;
    let link = link(&format!("{}?response_timeout_ms=600000&heartbeat_ms=600000", redis.url())).await?;
    redis.pause()?;
    let mut reading = pin!(link.get(b"k"));
    assert!(!begin(reading.as_mut()));
    link.shutdown(Duration::from_millis(10)).await;
    let error = reading.await.unwrap_err();
    assert!(error.outcome_unknown(), "{error}");
    redis.resume()?;
    Ok(())
}

#[tokio::test]
async fn keel_opens_and_closes_its_link() -> Result<()> {
    let redis = server().await?;
    let keel = Keel::connect(&format!("{}?prefix=shop", redis.url())).await?;
    assert_eq!(keel.link().map(|link| link.prefix().to_owned()).as_deref(), Some("shop"));
    keel.shutdown(Duration::from_secs(1)).await;
    no_clients(&redis).await?;
    assert!(Keel::memory().link().is_none());
    assert!(matches!(Keel::connect("redis://").await.err(), Some(LinkError::Options(_))));
    Ok(())
}
