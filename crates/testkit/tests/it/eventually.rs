//! Waiting has an end and says what it waited for.

use std::cell::Cell;
use std::time::Duration;
use testkit::{eventually, eventually_within};

#[tokio::test]
async fn eventually_returns_the_first_result() {
    let asked = Cell::new(0);
    let answer = eventually("the third probe", || {
        asked.set(asked.get() + 1);
        let asked = asked.get();
        async move { (asked == 3).then_some(asked) }
    });
    assert_eq!(answer.await.unwrap(), 3);
}

#[tokio::test]
async fn eventually_names_its_condition_when_a_probe_hangs() {
    let hanging =
        eventually_within(Duration::from_millis(20), "the server answers", std::future::pending::<Option<()>>);
    let error = hanging.await.unwrap_err().to_string();
    assert!(error.contains("the server answers") && error.contains("1 probes"), "{error}");
}
