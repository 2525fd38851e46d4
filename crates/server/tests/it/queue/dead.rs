//! `evenkeel queue dead` against a real Redis.

use super::Fixture;
use evenkeel_protocol::queue::steps::Outcome;
use serde_json::json;
use std::io::Read;
use testkit::process::Launch;

// shows: hazard CL26
#[tokio::test]
async fn dead_letters_are_redriven_and_deleted() {
    let fixture = Fixture::new().await;
    fixture.add_dead_letters().await;
    let listed = fixture.queue(&["dead", "ls", "mail"]).await.out;
    assert_eq!(listed.matches("no route to host").count(), 4, "{listed}");

    let dry = fixture.queue(&["dead", "redrive", "mail", "--error", "no route", "--dry-run"]).await;
    assert_eq!(dry.out, "4 of 4 dead letters would be redriven\n");
    let none = fixture.json(&["dead", "redrive", "mail", "--error", "bad address"]).await;
    assert_eq!(none["taken"], 0);
    let two = fixture.json(&["dead", "redrive", "mail", "--name", "fix", "--limit", "2"]).await;
    assert_eq!((&two["taken"], &two["taken_in_all"]), (&json!(2), &json!(2)));
    let rest = fixture.queue(&["dead", "redrive", "mail", "--name", "fix"]).await;
    assert_eq!(rest.out, "2 redriven by 'fix' (4 in total)\n");
    assert_eq!(fixture.json(&["stats", "mail"]).await["waiting"], 4);

    assert_eq!(fixture.settle(&Outcome::Dead { reason: "no route to host".into() }).await, 4);
    let history = fixture.queue(&["job", "mail", "a"]).await.out;
    assert_eq!(
        (history.matches("failed permanently").count(), history.matches("redriven").count()),
        (2, 1),
        "{history}"
    );
    let unconfirmed = fixture.queue(&["dead", "rm", "mail", "a", "unknown"]).await;
    let says = unconfirmed.err.contains("this deletes 2 dead letters of mail for good; to do it, add --confirm mail");
    assert_eq!((unconfirmed.code, says), (2, true), "{}", unconfirmed.err);
    let removed = fixture.queue(&["dead", "rm", "mail", "a", "unknown", "--confirm", "mail"]).await;
    assert_eq!((removed.code, removed.out.as_str()), (1, "a: deleted\nunknown: not a dead letter\n"));
    let unconfirmed = fixture.queue(&["dead", "rm", "mail", "--all"]).await;
    assert_eq!(unconfirmed.code, 2);
    assert!(unconfirmed.err.contains("add --confirm mail"), "{}", unconfirmed.err);
    let wrong = fixture.queue(&["dead", "rm", "mail", "--all", "--confirm", "male"]).await;
    assert_eq!((wrong.code, fixture.json(&["stats", "mail"]).await["dead"].clone()), (2, json!(3)));
    fixture.json(&["dead", "rm", "mail", "--all", "--confirm", "mail"]).await;
    assert_eq!(fixture.json(&["stats", "mail"]).await["dead"], 0);
}

// shows: hazard CL7
#[tokio::test]
async fn dead_letters_of_one_error_are_counted_listed_and_deleted() {
    let fixture = Fixture::new().await;
    fixture.add_dead_letters().await;
    for id in ["e", "f"] {
        fixture.add(id, &[]).await;
    }
    assert_eq!(fixture.settle(&Outcome::Dead { reason: "smtp refused 451".into() }).await, 2);
    let groups = fixture.queue(&["dead", "groups", "mail"]).await.out;
    let rows = "LETTERS  ERROR\n      4  no route to host\n      2  smtp refused NUMBER\n";
    assert!(groups.starts_with(rows) && groups.contains("`evenkeel queue dead ls mail --error TEXT`"), "{groups}");
    let (mut seen, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
    loop {
        let mut words = vec!["dead", "ls", "mail", "--error", "smtp refused", "--limit", "1"];
        words.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
        let page = fixture.json(&words).await;
        seen.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap().to_owned()));
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, ["e", "f"]);
    let remove = ["dead", "rm", "mail", "--error", "smtp refused"];
    let unconfirmed = fixture.queue(&remove).await;
    let says = unconfirmed.err.contains("this deletes 2 dead letters of mail for good");
    assert_eq!((unconfirmed.code, says), (2, true), "{}", unconfirmed.err);
    let removed = fixture.queue(&[&remove[..], &["--confirm", "mail"]].concat()).await;
    assert_eq!((removed.code, removed.out.as_str()), (0, "2 dead letters deleted\n"));
    assert_eq!(fixture.json(&["stats", "mail"]).await["dead"], 4);
}

/// A redrive at a rate gave all letters their due times at once, and could not be stopped.
// shows: hazard CL7, hazard CL18
#[tokio::test]
async fn redrive_at_a_rate_is_stopped_by_a_signal() {
    let fixture = Fixture::new().await;
    for number in 0..12 {
        fixture.add(&format!("job {number}"), &[]).await;
    }
    assert_eq!(fixture.settle(&Outcome::Dead { reason: "no route".into() }).await, 12);
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch::new(env!("CARGO_BIN_EXE_evenkeel"), folder.path().join("log")).piped();
    let words = ["queue", "--redis", &fixture.url, "dead", "redrive", "mail", "--name", "slow", "--rate", "1"];
    let mut child = launch.arguments(words).start().unwrap();
    let waiting = async || (fixture.json(&["stats", "mail"]).await["dead"] == 2).then_some(());
    testkit::eventually("ten seconds of the rate are sent back", waiting).await.unwrap();
    let mut output = child.take_output().unwrap();
    let status = child.terminate().await.unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert_eq!(status.code(), Some(1), "{text}");
    assert!(text.contains("10 redriven by 'slow'") && text.contains("stopped: the rest stays dead"), "{text}");
    assert_eq!(fixture.json(&["stats", "mail"]).await["dead"], 2);
}
