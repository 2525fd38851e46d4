//! `evenkeel queue newest`, `why` and `amend` against a real Redis.

use super::Fixture;
use evenkeel_protocol::queue::steps::Outcome;
use serde_json::{Value, json};
use std::io::Read;
use std::time::Duration;
use testkit::process::Launch;
use testkit::proxy::{Direction, Hold, Proxy};
use testkit::step_command;
use url::Url;

#[tokio::test]
async fn newest_jobs_are_listed_first_with_the_beginning_of_their_bodies() {
    let fixture = Fixture::new().await;
    for number in 0..5 {
        fixture.add(&format!("job {number}"), &["--in", &format!("{}m", number + 1)]).await;
    }
    let (mut seen, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
    loop {
        let mut words = vec!["newest", "mail", "--limit", "2"];
        words.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
        let page = fixture.json(&words).await;
        seen.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap().to_owned()));
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["job 4", "job 3", "job 2", "job 1", "job 0"]);

    let long = json!("x".repeat(2_000)).to_string();
    fixture.json(&["add", "mail", &long, "--id", "long", "--in", "1h"]).await;
    let first = fixture.json(&["newest", "mail", "--limit", "1"]).await["jobs"][0].clone();
    assert_eq!((&first["name"], &first["body"], &first["body_bytes"]), (&json!("long"), &Value::Null, &json!(2_002)));
    assert_eq!(first["body_start"].as_str().unwrap().len(), 512);
    let table = fixture.queue(&["newest", "mail"]).await.out;
    assert!(table.starts_with("ID") && table.lines().count() == 7 && table.contains("2002"), "{table}");
    let none = fixture.queue(&["newest", "mail", "--state", "dead"]).await;
    assert_eq!((none.code, none.out.as_str()), (0, "queue mail: no dead letters\n"));
}

#[tokio::test]
async fn reason_why_a_job_does_not_run_is_printed() {
    let fixture = Fixture::new().await;
    fixture.add("later", &["--in", "1h"]).await;
    assert_eq!(fixture.json(&["why", "mail", "later"]).await["reason"], "not_due");
    let later = fixture.queue(&["why", "mail", "later"]).await.out;
    assert!(later.starts_with("later: it is due in 3"), "{later}");
    fixture.add("now", &[]).await;
    assert_eq!(fixture.json(&["why", "mail", "now"]).await["reason"], "no_consumer");
    fixture.json(&["pause", "mail"]).await;
    let paused = fixture.queue(&["why", "mail", "now"]).await;
    assert_eq!((paused.code, paused.out.as_str()), (0, "now: the topic is paused until it is resumed\n"));
    let unknown = fixture.queue(&["why", "mail", "never", "--json"]).await;
    let value: Value = serde_json::from_str(&unknown.out).unwrap();
    assert_eq!((unknown.code, &value["reason"]), (1, &json!("unknown")));
}

#[tokio::test]
async fn body_of_waiting_job_or_dead_letter_is_replaced() {
    let fixture = Fixture::new().await;
    fixture.add("later", &["--in", "1h"]).await;
    let amended = fixture.json(&["amend", "mail", "later", r#"{"to":2}"#]).await;
    assert_eq!(amended[0]["ok"], true);
    assert_eq!(fixture.json(&["job", "mail", "later"]).await["body"], json!({ "to": 2 }));

    fixture.add("dies", &[]).await;
    assert_eq!(fixture.settle(&Outcome::Dead { reason: "no route".into() }).await, 1);
    let other = fixture.queue(&["amend", "mail", "dies", "1", "--seen", "2"]).await;
    assert_eq!((other.code, other.out.contains("its body is another one by now")), (1, true), "{}", other.out);
    let words = ["amend", "mail", "dies", r#"{"to":"ada"}"#, "--seen", r#"{"to":"dies"}"#];
    // A repeat finds the new body.
    for _ in 0..2 {
        let ran = fixture.queue(&words).await;
        assert_eq!((ran.code, ran.out.contains("still dead: redrive it")), (0, true), "{}{}", ran.out, ran.err);
    }
    let job = fixture.json(&["job", "mail", "dies"]).await;
    assert_eq!((&job["state"], &job["body"]), (&json!("dead"), &json!({ "to": "ada" })));

    fixture.add("ends", &[]).await;
    assert_eq!(fixture.settle(&Outcome::Done).await, 1);
    let ended = fixture.queue(&["amend", "mail", "ends", "1"]).await;
    assert_eq!((ended.code, ended.out.contains("the job has ended (Done)")), (1, true), "{}", ended.out);
}

/// A job could be found by a word in its body on the page only.
// shows: hazard CL13
#[tokio::test]
async fn jobs_are_found_by_a_text_in_bodies_or_errors() {
    let fixture = Fixture::new().await;
    for id in ["hay", "a needle", "more hay"] {
        fixture.add(id, &[]).await;
    }
    let found = fixture.json(&["find", "mail", "needle"]).await;
    assert_eq!((found["jobs"].as_array().unwrap().len(), &found["jobs"][0]["name"]), (1, &json!("a needle")));
    let none = fixture.queue(&["find", "mail", "smtp"]).await;
    assert_eq!((none.code, none.out.as_str()), (1, "none of 3 jobs contains \"smtp\" (see also --state)\n"));
    assert_eq!(fixture.settle(&Outcome::Dead { reason: "smtp refused".into() }).await, 3);
    let dead = fixture.queue(&["find", "mail", "smtp", "--state", "dead"]).await;
    assert_eq!((dead.code, dead.out.matches("smtp refused").count()), (0, 3), "{}", dead.out);
}

/// Waits until a command calls a step that it has called before another one: the first page is read, and the call for the second one is held.
async fn second_page(proxy: &Proxy) -> Hold {
    let mut hold = proxy.hold(Direction::ToServer, step_command());
    let (mut called, mut last) = (Vec::new(), None);
    loop {
        let step = hold.reached().await.unwrap().argument;
        if step != last && called.contains(&step) {
            return hold;
        }
        called.push(std::mem::replace(&mut last, step));
        let next = proxy.hold(Direction::ToServer, step_command());
        hold.release();
        hold = next;
    }
}

/// A search of minutes that was ended by Ctrl-C had to begin again.
// shows: hazard CL20
#[tokio::test]
async fn search_that_is_stopped_says_where_to_go_on() {
    let fixture = Fixture::new().await;
    let mail = fixture.keel.queue::<Value>("mail").open().await.unwrap();
    for number in 0..201 {
        let body = if number == 0 { "a needle" } else { "hay" };
        mail.delay(Duration::from_secs(3_600 + number), &json!(body)).await.unwrap();
    }
    let proxy = Proxy::start(Url::parse(&fixture.url).unwrap().port().unwrap(), 5).await.unwrap();
    let url = format!("{}&response_timeout_ms=30000", proxy.url(&fixture.url));
    for json in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let launch = Launch::new(env!("CARGO_BIN_EXE_evenkeel"), folder.path().join("log")).piped();
        let launch = launch.arguments(["queue", "--redis", &url, "find", "mail", "needle"]);
        let mut child = launch.arguments(json.then_some("--json")).start().unwrap();
        let held = second_page(&proxy).await;
        let mut output = child.take_output().unwrap();
        let status = child.terminate().await.unwrap();
        drop(held);
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        assert_eq!(status.code(), Some(1), "{text}");
        let next = if json {
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&value["stopped"], &value["read"], &value["jobs"]), (&json!(true), &json!(200), &json!([])));
            value["next"].as_str().unwrap().to_owned()
        } else {
            assert!(text.starts_with("none of 200 jobs contains \"needle\""), "{text}");
            let (_, next) = text.split_once("stopped: the rest was not searched; to continue, add --after ").unwrap();
            next.trim_end().to_owned()
        };
        let found = fixture.json(&["find", "mail", "needle", "--after", &next]).await;
        assert_eq!((&found["read"], &found["jobs"][0]["body"]), (&json!(1), &json!("a needle")), "{found}");
    }
}
