//! What the pages show and do, over the API.

use super::caller::{Caller, ROOT, answer, problem};
use crate::console::server::Console;
use evenkeel::queue::Limits;
use serde_json::{Value, json};

// shows: hazard CL13
#[tokio::test]
async fn job_is_enqueued_read_changed_and_revoked() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    // The digits of the number are more than a floating-point number keeps.
    let text = r#"{"jobs":[{"id":"welcome/42","delay_ms":3600000,"body":{ "n": 12345678901234567890 }}]}"#;
    let headers = "content-type: application/json\r\n";
    let sent = console.send("POST", &format!("{ROOT}/topics/mail/jobs"), headers, text).await;
    let id = answer(&sent)["jobs"][0]["id"].as_str().unwrap().to_owned();
    let again = console.send("POST", &format!("{ROOT}/topics/mail/jobs"), headers, text).await;
    assert_eq!(answer(&again)["jobs"][0], json!({ "id": id, "result": "duplicate" }));

    let path = format!("/topics/mail/jobs/{id}");
    let shown = caller.get(&path).await;
    assert!(shown.text.contains(r#""body":{ "n": 12345678901234567890 }"#), "{}", shown.text);
    let job = answer(&shown);
    assert_eq!((&job["state"], &job["sender_id"]), (&json!("waiting"), &json!("welcome/42")));
    assert!(job["why"].as_str().unwrap().starts_with("it is due in") && job["at"].is_string(), "{job}");
    assert_eq!(caller.get(&format!("{path}/body")).await.text, r#"{ "n": 12345678901234567890 }"#);
    let found = caller.read("/topics/mail/jobs?sender_id=welcome%2F42").await;
    assert_eq!(found["jobs"][0]["id"], json!(id));
    for (text, ids) in [("567890", vec![id.as_str()]), ("no", vec![])] {
        let found = caller.read(&format!("/topics/mail/jobs?text={text}")).await;
        let jobs = found["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap());
        assert_eq!((jobs.collect::<Vec<_>>(), &found["read"]), (ids, &json!(1)), "{found}");
    }

    let tag = shown.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let edit = json!({ "body": { "n": 2 } });
    assert_eq!(problem(&caller.post(&format!("{path}/edit"), &edit).await).0, 422, "no If-Match");
    let if_match = format!("if-match: {tag}\r\n");
    assert_eq!(answer(&caller.post_with(&format!("{path}/edit"), &if_match, &edit).await)["result"], "changed");
    assert_eq!(
        answer(&caller.post_with(&format!("{path}/edit"), &if_match, &edit).await)["result"],
        "changed",
        "a repeat"
    );
    let late = caller.post_with(&format!("{path}/edit"), &if_match, &json!({ "body": 3 })).await;
    assert_eq!(problem(&late), (409, "changed-meanwhile".to_owned(), "none".to_owned()));
    // The beginning of a tag is none.
    for short in ["\"\"", &tag[..5]] {
        let early =
            caller.post_with(&format!("{path}/edit"), &format!("if-match: {short}\r\n"), &json!({ "body": 3 })).await;
        assert_eq!(problem(&early).0, 409, "{short}: {}", early.text);
    }

    let limits = Limits { jobs_max: None, bytes_max: Some(4_000) };
    console.keel.topic("mail").await.unwrap().set_limits(limits).await.unwrap();
    let shown = caller.get(&path).await;
    let tag = shown.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let long = json!({ "body": "x".repeat(8_000) });
    let full = caller.post_with(&format!("{path}/edit"), &format!("if-match: {tag}\r\n"), &long).await;
    assert_eq!((full.status, full.text.contains("above its limit of bytes")), (422, true), "{}", full.text);

    caller.act(&format!("{path}/reschedule"), &json!({ "delay_ms": "7200000" })).await;
    caller.act(&format!("{path}/run"), &json!({})).await;
    assert_eq!(caller.read("/topics/mail").await["due"], "1");
    assert_eq!(caller.act(&format!("{path}/revoke"), &json!({})).await["result"], "revoked");
    assert_eq!(caller.act(&format!("{path}/revoke"), &json!({})).await["result"], "revoked", "a repeat");
    assert_eq!(caller.read(&path).await["end"], "revoked");
}

// shows: hazard PO13
#[tokio::test]
async fn topic_and_stream_are_created_over_the_api_once() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    for (path, settings) in
        [("/topics", json!({ "name": "sms", "shards": 2 })), ("/streams", json!({ "name": "calls", "partitions": 2 }))]
    {
        assert_eq!(caller.act(path, &settings).await["result"], "created");
        assert_eq!(caller.act(path, &settings).await["result"], "exists", "a repeat");
        for name in ["..", "a b"] {
            assert_eq!(problem(&caller.post(path, &json!({ "name": name })).await).0, 422, "{path} {name}");
        }
    }
    assert_eq!(caller.read("/topics/sms").await["shards"], 2);
    assert_eq!(caller.read("/streams/calls").await["partitions"], 2);
    let sent = caller.act("/topics/sms/jobs", &json!({ "jobs": [{ "body": 1 }] })).await;
    assert_eq!(sent["jobs"][0]["result"], "created");
}

#[tokio::test]
async fn idempotency_key_and_unique_key_add_one_job() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    let two = json!({ "jobs": [{ "body": 1 }, { "body": 2 }] });
    let send = async || answer(&caller.post_with("/topics/mail/jobs", "idempotency-key: order-7\r\n", &two).await);
    let (first, second) = (send().await, send().await);
    assert_eq!((&first["jobs"][0]["result"], &second["jobs"][1]["result"]), (&json!("created"), &json!("duplicate")));
    assert_eq!(first["jobs"][1]["id"], second["jobs"][1]["id"]);
    assert_ne!(first["jobs"][0]["id"], first["jobs"][1]["id"]);
    let unique = json!({ "jobs": [{ "body": 1, "unique": { "key": "user 7", "window_ms": 60_000 } }] });
    assert_eq!(caller.act("/topics/mail/jobs", &unique).await["jobs"][0]["result"], "created");
    assert_eq!(caller.act("/topics/mail/jobs", &unique).await["jobs"][0]["result"], "duplicate");
    assert_eq!(caller.read("/topics/mail").await["waiting"], "3");
}

#[tokio::test]
async fn lists_are_paged_without_gaps() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    let jobs: Vec<Value> = (0..7).map(|n| json!({ "body": n, "delay_ms": 1_000_000 + n })).collect();
    caller.act("/topics/mail/jobs", &json!({ "jobs": jobs })).await;
    let (mut bodies, mut after) = (Vec::new(), String::new());
    loop {
        let page = caller.read(&format!("/topics/mail/jobs?state=waiting&limit=3{after}")).await;
        bodies.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["body"].as_u64().unwrap()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    bodies.sort_unstable();
    assert_eq!(bodies, (0..7).collect::<Vec<_>>());
    for query in ["limit=0", "limit=501", "state=none", "after=x", "color=red"] {
        assert_eq!(problem(&caller.get(&format!("/topics/mail/jobs?{query}")).await).0, 422, "{query}");
    }
}

#[tokio::test]
async fn topic_is_paused_and_resumed_and_problems_are_listed() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    caller.act("/topics/mail/pause", &json!({})).await;
    assert_eq!(caller.read("/topics/mail").await["is_paused"], true);
    caller.act("/topics/mail/resume", &json!({})).await;
    assert_eq!(caller.read("/topics/mail").await["is_paused"], false);
    let past = caller.post("/topics/mail/pause", &json!({ "until": "1" })).await;
    assert_eq!(problem(&past), (422, "invalid-input".to_owned(), "none".to_owned()), "{}", past.text);
    assert!(past.text.contains("must be in the future"), "{}", past.text);
    assert!(caller.read("").await["problems"].is_array());
    assert_eq!(caller.read("/topics").await["topics"][0]["name"], "mail");
    let log = std::fs::read_to_string(console.folder.path().join("audit")).unwrap();
    assert!(log.contains("\"action\":\"pause\"") && log.lines().count() == 4, "{log}");
}

// shows: hazard CL1
#[tokio::test]
async fn dead_letters_are_redriven_and_deleted_over_the_api() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    console.add_dead(json!({ "to": "ada" }), "smtp refused 451").await;
    let groups = caller.read("/topics/mail/dead").await;
    assert_eq!(groups["groups"], json!([{ "group": "smtp refused NUMBER", "count": 1 }]));
    let choice = json!({ "group": "smtp refused NUMBER", "until": groups["until"] });
    assert_eq!(problem(&caller.post("/topics/mail/dead/redrive", &choice).await).0, 422, "no Idempotency-Key");
    let redrive =
        async || answer(&caller.post_with("/topics/mail/dead/redrive", "idempotency-key: a\r\n", &choice).await);
    assert_eq!(redrive().await["redriven_in_all"], "1");
    let resent = redrive().await;
    assert_eq!((&resent["redriven"], &resent["redriven_in_all"]), (&json!("0"), &json!("1")), "a resend");
    let waiting = caller.read("/topics/mail/jobs").await;
    caller.act(&format!("/topics/mail/jobs/{}/revoke", waiting["jobs"][0]["id"].as_str().unwrap()), &json!({})).await;

    console.add_dead(json!(1), "bad address").await;
    let dead = caller.read("/topics/mail/jobs?state=dead").await;
    let path = format!("/topics/mail/jobs/{}", dead["jobs"][0]["id"].as_str().unwrap());
    assert_eq!(
        problem(&caller.post(&format!("{path}/delete"), &json!({ "confirm": "male" })).await).1,
        "not-confirmed"
    );
    assert_eq!(caller.act(&format!("{path}/redrive"), &json!({})).await["result"], "redriven");
    assert_eq!(caller.act(&format!("{path}/delete"), &json!({ "confirm": "mail" })).await["deleted"], "0", "it waits");
    let late = caller.read("/topics/mail/dead").await;
    let gone = json!({ "group": "bad address", "until": late["until"], "confirm": "mail" });
    assert_eq!(caller.act("/topics/mail/dead/delete", &gone).await["deleted"], "0");
}

// shows: hazard T25
#[tokio::test]
async fn bad_requests_are_problems_with_their_outcome() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    let job = |job: Value| json!({ "jobs": [job] });
    let cases = [
        (job(json!({ "body": 1, "color": "red" })), "color"),
        (job(json!({})), "body"),
        (job(json!({ "body": 1, "body_base64": "MQ==" })), "body"),
        (job(json!({ "body_base64": "AP8=" })), "body_base64"),
        (job(json!({ "body": 1, "at": 1, "delay_ms": 1 })), "at"),
        (job(json!({ "body": 1, "delay_ms": "-1" })), "delay_ms"),
        (job(json!({ "body": 1, "at": -1 })), "at"),
        (job(json!({ "body": 1, "at": "-1" })), "at"),
        (job(json!({ "body": 1, "delay_ms": "18446744073709551616" })), "delay_ms"),
        (job(json!({ "body": 1, "priority": "highest" })), "priority"),
        (json!({ "jobs": [] }), "jobs"),
    ];
    for (body, field) in cases {
        let refused = caller.post("/topics/mail/jobs", &body).await;
        assert_eq!(problem(&refused), (422, "invalid-input".to_owned(), "none".to_owned()), "{body}: {}", refused.text);
        assert!(refused.text.contains(field), "{field}: {}", refused.text);
    }
    assert_eq!(problem(&caller.get("/topics/none").await).1, "unknown-topic");
    assert_eq!(problem(&caller.get("/nowhere").await).1, "not-found");
    let other = console.get("/api/v1/sources/other/topics", "").await;
    assert_eq!(problem(&other).1, "unknown-source");
    let huge = json!({ "jobs": [{ "body": "x".repeat(9 << 20) }] });
    let refused = caller.post("/topics/mail/jobs", &huge).await;
    assert_eq!((refused.status, refused.text.contains("8 MiB")), (413, true), "{}", refused.text);
    let large = json!({ "jobs": [{ "body": "x".repeat(1 << 20), "delay_ms": 60_000 }] });
    caller.act("/topics/mail/jobs", &large).await;
}

/// Regression: a pause of 99,999,999,999 days, of no time, and one until a time in microseconds were accepted.
// shows: hazard T12
#[tokio::test]
async fn pause_ends_within_a_hundred_years_on_every_surface() {
    let console = Console::start(false).await;
    let caller = Caller::local(&console);
    for span in ["99999999999d", "36501d", "0s"] {
        let words = ["queue", "--redis", &console.url, "pause", "mail", "--for", span];
        let ran = crate::program::evenkeel_async(&words).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{span}: {}", ran.err);
        assert!(ran.err.contains("--for must be between 1ms and a hundred years"), "{span}: {}", ran.err);
        let (cookie, csrf) = console.visit("/queues/mail", "").await;
        let body = format!("csrf={csrf}&until={span}");
        let sent = console.send("POST", "/queues/mail/pause", &console.form(&cookie), &body).await;
        assert_eq!(sent.status, 422, "{span}: {}", sent.text);
    }
    for until in ["18446744073709551615", "1700000000000000", "9999999999999", "0"] {
        let refused = caller.post("/topics/mail/pause", &json!({ "until": until })).await;
        assert_eq!(
            problem(&refused),
            (422, "invalid-input".to_owned(), "none".to_owned()),
            "{until}: {}",
            refused.text
        );
    }
    assert_eq!(caller.read("/topics/mail").await["is_paused"], false);
    let ran =
        crate::program::evenkeel_async(&["queue", "--redis", &console.url, "pause", "mail", "--for", "36500d"]).await;
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(caller.read("/topics/mail").await["is_paused"], true);
}

/// Regression: problems of the layers below the routes had no outcome, and that of another origin spoke of a form.
// shows: hazard T13
#[tokio::test]
async fn problem_of_every_layer_has_an_outcome() {
    let console = Console::start(false).await;
    let topics = "/api/v1/sources/default/topics";
    let pause = format!("{topics}/mail/pause");
    let origin = "origin: https://evil.example\r\nsec-fetch-site: cross-site\r\ncontent-type: application/json\r\n";
    for (method, path, headers, status) in [
        ("GET", "/api/v1/nothing", "", 404),
        ("POST", "/api/nothing", "content-type: application/json\r\n", 404),
        ("DELETE", topics, "", 405),
        ("POST", pause.as_str(), origin, 403),
        ("GET", "/api/v1/nothing", "accept: text/html\r\n", 404),
    ] {
        let refused = console.send(method, path, headers, "{}").await;
        let (of, _, outcome) = problem(&refused);
        assert_eq!((of, outcome.as_str()), (status, "none"), "{method} {path}: {}", refused.text);
        assert!(status != 403 || !refused.text.contains("form"), "{}", refused.text);
        assert!(refused.head.contains("x-short-id: "), "{}", refused.head);
    }
}
