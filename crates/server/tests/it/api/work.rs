//! The worker protocol: claims, settlements, heartbeats, and their repetition by any instance.

use super::caller::{Caller, problem};
use crate::console::server::Console;
use serde_json::{Value, json};

const WORK: &str = "/topics/mail/work";

fn call(worker: char, sequence: u64, settle: &Value, want: u64) -> Value {
    json!({ "worker": worker.to_string().repeat(16), "sequence": sequence, "settle": settle, "want": want, "lease_ms": 60_000 })
}

fn outcome(job: &Value, outcome: &str) -> Value {
    json!({ "id": job["id"], "token": job["token"], "fence": job["fence"], "outcome": outcome, "error": "smtp refused" })
}

#[tokio::test]
async fn repeated_call_gets_the_same_jobs_and_verdicts_on_any_instance() {
    let console = Console::start(false).await;
    let second = console.another().await;
    let (one, two) = (Caller::local(&console), Caller::local(&second));
    for n in 0..5 {
        one.add(&json!({ "body": { "n": n } })).await;
    }
    let claim = call('a', 1, &json!([]), 3);
    let (first, again) = (one.act(WORK, &claim).await, two.act(WORK, &claim).await);
    let names = |worked: &Value| -> Vec<(String, String)> {
        let jobs = worked["jobs"].as_array().unwrap().iter();
        jobs.map(|job| (job["id"].to_string(), job["token"].to_string())).collect()
    };
    assert_eq!((names(&first).len(), names(&first)), (3, names(&again)));
    let jobs = first["jobs"].as_array().unwrap();
    assert!(jobs[0]["lease_ms"].as_u64().unwrap() <= 60_000 && jobs[0]["attempt"] == 1, "{first}");

    let settle = json!([outcome(&jobs[0], "done"), outcome(&jobs[1], "dead"), outcome(&jobs[2], "released")]);
    let settle = call('a', 2, &settle, 2);
    let (first, again) = (two.act(WORK, &settle).await, one.act(WORK, &settle).await);
    assert_eq!(first["verdicts"], json!(["settled", "died", "settled"]));
    assert_eq!((&first["verdicts"], names(&first)), (&again["verdicts"], names(&again)));
    assert_eq!(problem(&one.post(WORK, &claim).await), (409, "stale-call".to_owned(), "none".to_owned()));
    let stats = one.read("/topics/mail").await;
    assert_eq!((&stats["done"], &stats["dead"], &stats["running"]), (&json!("1"), &json!("1"), &json!("2")));
    // The delivery is over: its token settles nothing.
    let late = call('b', 1, &json!([outcome(&jobs[0], "done")]), 0);
    assert_eq!(one.act(WORK, &late).await["verdicts"], json!(["lost"]));
}

#[tokio::test]
async fn waiting_call_gets_a_job_that_comes_later() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    let mut claim = call('a', 1, &json!([]), 1);
    claim["wait_ms"] = json!(20_000);
    let job = json!({ "body": 1 });
    let (worked, _) = tokio::join!(caller.act(WORK, &claim), caller.add(&job));
    assert_eq!(worked["jobs"][0]["body"], 1, "{worked}");
    // A repeat finds the look that claimed, whichever it was.
    let again = caller.act(WORK, &claim).await;
    assert_eq!(again["jobs"][0]["token"], worked["jobs"][0]["token"]);
}

#[tokio::test]
async fn worker_of_another_key_cannot_repeat_a_call() {
    let console = Console::start(true).await;
    let scopes = ["--scope", "enqueue:mail", "--scope", "work:mail"];
    let (one, two) = (Caller::key(&console, "one", &scopes), Caller::key(&console, "two", &scopes));
    one.add(&json!({ "body": 1 })).await;
    let claim = call('a', 1, &json!([]), 1);
    assert_eq!(one.act(WORK, &claim).await["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(two.act(WORK, &claim).await["jobs"], json!([]), "the same name, another key");
}

#[tokio::test]
async fn heartbeat_extends_and_reports_lost_deliveries() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    caller.add(&json!({ "body": 1 })).await;
    let worked = caller.act(WORK, &call('a', 1, &json!([]), 1)).await;
    let job = &worked["jobs"][0];
    let named = json!({ "id": job["id"], "token": job["token"], "fence": job["fence"] });
    let other = json!({ "id": job["id"], "token": job["token"], "fence": "1" });
    let pulse = json!({ "worker": "a".repeat(16), "lease_ms": 120_000, "held": [other], "started": [named] });
    assert_eq!(caller.act("/topics/mail/heartbeat", &pulse).await, json!({ "held": [false], "started": [true] }));
    let why = caller.read(&format!("/topics/mail/jobs/{}", job["id"].as_str().unwrap())).await;
    assert!(why["why"].as_str().unwrap().starts_with("it has been running"), "{why}");
}

/// The page of a job said "not reported" for every worker over HTTP.
// shows: hazard CL11
#[tokio::test]
async fn page_of_a_job_names_its_http_worker_on_each_instance() {
    let console = Console::start(true).await;
    let second = console.another().await;
    let caller = Caller::key(&console, "mailer", &["--scope", "enqueue:mail", "--scope", "work:mail"]);
    let page = async |console: &Console, id: &str, token: &str| {
        let login = if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
        console.get(&format!("/queues/mail/jobs/{id}"), &login).await.text
    };
    let id = caller.add(&json!({ "body": 1 })).await;
    let worked = caller.act(WORK, &call('a', 1, &json!([]), 1)).await;
    let shown = page(&console, &id, &console.tokens[0]).await;
    assert!(shown.contains("worker aaaaaaaa… over HTTP, key mailer") && !shown.contains("aaaaaaaaa"), "{shown}");
    assert!(page(&second, &id, "").await.contains("not reported"), "it was never called");
    // The worker calls the other instance from now on.
    let job = &worked["jobs"][0];
    let named = json!({ "id": job["id"], "token": job["token"], "fence": job["fence"] });
    let pulse = json!({ "worker": "a".repeat(16), "lease_ms": 60_000, "started": [named] });
    assert_eq!(Caller::local(&second).act("/topics/mail/heartbeat", &pulse).await["started"], json!([true]));
    assert!(page(&second, &id, "").await.contains("worker aaaaaaaa… over HTTP, key local"));
}

/// A record above 64 KiB does not travel with the claim.
#[tokio::test]
async fn large_body_reaches_the_worker_whole() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    let body = "x".repeat(300_000);
    caller.add(&json!({ "body": body })).await;
    assert_eq!(caller.act(WORK, &call('a', 1, &json!([]), 1)).await["jobs"][0]["body"], json!(body));
}

#[tokio::test]
async fn extreme_worker_calls_are_refused() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    let job = json!({ "id": "0".repeat(32), "token": format!("0-{}", "0".repeat(32)), "fence": 1, "outcome": "done" });
    let with = |name: &str, value: Value| {
        let mut job = job.clone();
        job[name] = value;
        json!([job])
    };
    let cases = [
        ("worker", json!("short")),
        ("worker", json!("w".repeat(65))),
        ("worker", json!("with a space and more")),
        ("sequence", json!(0)),
        ("sequence", json!(4_294_967_297_u64)),
        ("sequence", json!(u64::MAX)),
        ("want", json!(101)),
        ("want", json!(-1)),
        ("lease_ms", json!(999)),
        ("lease_ms", json!(3_600_001)),
        ("lease_ms", json!(u64::MAX)),
        ("wait_ms", json!(20_001)),
        ("settle", with("token", json!("0"))),
        ("settle", with("token", json!(format!("70000-{}", "0".repeat(32))))),
        ("settle", with("id", json!("x"))),
        ("settle", with("outcome", json!("lost"))),
        ("settle", with("delay_ms", json!("1e3"))),
        ("settle", Value::Array(vec![job.clone(); 101])),
    ];
    for (field, value) in cases {
        let mut call = call('a', 1, &json!([]), 1);
        call[field] = value;
        let refused = caller.post(WORK, &call).await;
        assert_eq!(problem(&refused).0, 422, "{field} {}: {}", call[field], refused.text);
    }
    // A shard that does not exist has nothing to settle; the largest number is a valid one.
    let foreign = with("token", json!(format!("65535-{}", "0".repeat(32))));
    let mut last = call('a', 4_294_967_296, &foreign, 0);
    last["lease_ms"] = json!(3_600_000);
    assert_eq!(caller.act(WORK, &last).await["verdicts"], json!(["lost"]));
    let pulse = json!({ "worker": "a".repeat(16), "lease_ms": 0 });
    assert_eq!(problem(&caller.post("/topics/mail/heartbeat", &pulse).await).0, 422);

    // The limit of a heartbeat is that of each list, as the OpenAPI document can state it.
    let named = json!({ "id": "0".repeat(32), "token": format!("0-{}", "0".repeat(32)), "fence": 1 });
    for (held, started, expected) in [(100, 100, 200), (101, 0, 422), (0, 101, 422)] {
        let (held, started) = (vec![named.clone(); held], vec![named.clone(); started]);
        let pulse = json!({ "worker": "a".repeat(16), "lease_ms": 60_000, "held": held, "started": started });
        assert_eq!(caller.post("/topics/mail/heartbeat", &pulse).await.status, expected);
    }
}
