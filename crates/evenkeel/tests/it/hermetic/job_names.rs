//! Ids and unique keys that senders choose have bounds.

use evenkeel::Keel;
use std::time::Duration;

/// The errors for a job with this id, and for one with this unique key.
async fn refusals(name: &[u8]) -> [Option<String>; 2] {
    let (body, minute) = ("welcome".to_owned(), Duration::from_secs(60));
    let mail = Keel::memory().queue::<String>("mail").open().await.unwrap();
    let named = mail.job(&body).id(name).enqueue().await;
    let unique = mail.job(&body).unique(name, minute).enqueue().await;
    [named, unique].map(|sent| sent.err().map(|error| error.to_string()))
}

// shows: hazard AL3
#[tokio::test]
async fn empty_id_is_rejected() {
    assert!(
        refusals(b"").await.iter().all(|error| error.as_ref().is_some_and(|error| error.contains("must not be empty")))
    );
    assert_eq!(refusals(b"x").await, [None, None]);
}

// shows: hazard AL3
#[tokio::test]
async fn oversized_id_is_rejected_by_name() {
    let [named, unique] = refusals(&[b'x'; 60_001]).await;
    assert!(named.is_some_and(|error| error.contains("an id has 60001 bytes")));
    assert!(unique.is_some_and(|error| error.contains("a unique key has 60001 bytes")));
    assert_eq!(refusals(&[b'x'; 60_000]).await, [None, None]);
}
