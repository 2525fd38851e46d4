//! `evenkeel queue` against a real Redis.

mod dead;
mod flushed;
mod job;
mod rows;

use crate::program::{Ran, evenkeel_async};
use evenkeel::Keel;
use evenkeel::queue::{Delivery, Handled, RetryDelay};
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::steps::{Outcome, SettleAndClaim, Settled, Shard};
use serde_json::{Value, json};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;
use testkit::conformance::queue::Consumer;
use testkit::park::{self, SharedRedis};
use testkit::servers::{Redis, RedisOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// An operator may not know the prefix of a service.
// shows: hazard S5
#[tokio::test]
async fn ls_lists_prefixes_that_have_queues() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let ls = async |url: String| evenkeel_async(&["queue", "--redis", &url, "ls"]).await;
    let empty = ls(redis.url()).await;
    assert_eq!(empty.code, 0, "{}", empty.err);
    assert!(empty.err.contains("no queues under the prefix \"evenkeel\" or any other prefix"), "{}", empty.err);
    let keel = Keel::connect(&format!("{}?prefix=evenkeel-EoOlXVI", redis.url())).await.unwrap();
    keel.queue::<Value>("mail").open().await.unwrap();
    let other = ls(redis.url()).await;
    assert_eq!(other.code, 1, "{}", other.err);
    assert!(
        other.err.contains("there are queues under these prefixes: evenkeel-EoOlXVI (add ?prefix="),
        "{}",
        other.err
    );
}

/// A Redis with a topic `mail` of two shards.
pub(crate) struct Fixture {
    _redis: SharedRedis,
    url: String,
    keel: Keel,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let redis = park::redis().await.unwrap();
        let url = format!("{}?prefix={}", redis.url, redis.prefix);
        let keel = Keel::connect(&url).await.unwrap();
        keel.queue::<Value>("mail").shards(2).open().await.unwrap();
        Self { _redis: redis, url, keel }
    }

    pub(crate) async fn queue(&self, arguments: &[&str]) -> Ran {
        evenkeel_async(&[&["queue", "--redis", &self.url], arguments].concat()).await
    }

    /// The parsed output with `--json`; the command must succeed.
    pub(crate) async fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.queue(&[arguments, &["--json"]].concat()).await;
        assert_eq!(ran.code, 0, "{arguments:?}: {}{}", ran.out, ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Adds a job with this id.
    pub(crate) async fn add(&self, id: &str, more: &[&str]) -> Value {
        self.json(&[&["add", "mail", &json!({ "to": id }).to_string(), "--id", id], more].concat()).await
    }

    /// Claims every due job and settles it with `outcome`.
    pub(crate) async fn settle(&self, outcome: &Outcome) -> usize {
        let link = self.keel.link().unwrap().clone();
        let (queue, mut settled) = (QueueBackend::redis(link.clone()), 0);
        for number in 0..2 {
            let shard = Shard::new(link.prefix(), "mail", number);
            let mut consumer = Consumer::default();
            let Settled::Done(claimed) = queue.run(&shard, &consumer.call(100)).await.unwrap() else {
                continue;
            };
            let settlements: Vec<_> =
                claimed.deliveries.iter().map(|delivered| (delivered.receipt, outcome.clone())).collect();
            settled += settlements.len();
            queue.run(&shard, &SettleAndClaim { settlements, ..consumer.call(0) }).await.unwrap();
        }
        settled
    }

    async fn add_dead_letters(&self) {
        for id in ["a", "b", "c", "d"] {
            self.add(id, &[]).await;
        }
        assert_eq!(self.settle(&Outcome::Dead { reason: "no route to host".into() }).await, 4);
    }
}

// shows: hazard BC4
#[tokio::test]
async fn job_is_inspected_and_changed() {
    let fixture = Fixture::new().await;
    let added = fixture.add("welcome/42", &["--in", "1h", "--priority", "high"]).await;
    assert_eq!(added["answer"], "created");
    let again = fixture.queue(&["add", "mail", "{}", "--id", "welcome/42"]).await;
    assert_eq!((again.code, again.out.contains("waiting or running")), (1, true), "{}", again.out);

    let job = fixture.json(&["job", "mail", "welcome/42"]).await;
    assert_eq!((&job["state"], &job["name"]), (&json!("waiting"), &json!("welcome/42")));
    assert_eq!((&job["priority"], &job["body"]), (&json!("high"), &json!({ "to": "welcome/42" })));
    let hex = added["id"].as_str().unwrap();
    let text = fixture.queue(&["job", "mail", hex]).await.out;
    assert!(text.contains("sender's id") && text.contains("in 59 m"), "{text}");

    let moved = fixture.json(&["reschedule", "mail", hex, "--in", "2h", "--body", r#"{"to":1}"#]).await;
    assert_eq!(moved[0]["ok"], true);
    assert_eq!(fixture.json(&["job", "mail", hex]).await["body"], json!({ "to": 1 }));
    fixture.json(&["run", "mail", hex]).await;
    assert_eq!(fixture.json(&["stats", "mail"]).await["due"], 1);
    assert_eq!(fixture.settle(&Outcome::Done).await, 1);
    let ended = fixture.json(&["job", "mail", hex]).await;
    assert_eq!((&ended["state"], &ended["end"]), (&json!("ended"), &json!("Done")));

    let refused = fixture.queue(&["revoke", "mail", hex, "never/seen"]).await;
    assert_eq!(refused.code, 1);
    assert_eq!(refused.out.lines().filter(|line| line.contains("not revoked")).count(), 2, "{}", refused.out);
    // A sender chose a digest as its id, which looks like the id of another job.
    let digest = "d41d8cd98f00b204e9800998ecf8427e";
    fixture.add(digest, &["--in", "1d"]).await;
    assert_eq!(fixture.json(&["job", "mail", digest]).await["name"], digest);
    assert_eq!(fixture.queue(&["revoke", "mail", digest]).await.code, 0);
    fixture.add("later", &["--in", "1d"]).await;
    let revoked = fixture.queue(&["revoke", "mail", "later"]).await;
    assert_eq!((revoked.code, revoked.out.as_str()), (0, "later: revoked\n"));
}

// shows: hazard S14
#[tokio::test]
async fn topics_are_listed_and_paged() {
    let fixture = Fixture::new().await;
    let exists = fixture.queue(&["create", "mail", "--shards", "4"]).await;
    assert_eq!((exists.code, exists.out.as_str()), (1, "mail: exists; nothing was changed\n"));
    assert_eq!(fixture.json(&["create", "zoo"]).await["created"], true);
    for number in 0..5 {
        fixture.add(&format!("job {number}"), &["--in", &format!("{}m", number + 1)]).await;
    }
    let list = fixture.json(&["ls"]).await;
    assert_eq!((&list[0]["topic"], &list[0]["shards"], &list[0]["waiting"]), (&json!("mail"), &json!(2), &json!(5)));
    let table = fixture.queue(&["ls"]).await.out;
    assert!(table.starts_with("TOPIC") && table.lines().count() == 3, "{table}");

    let (mut seen, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
    loop {
        let mut words = vec!["peek", "mail", "--limit", "2"];
        words.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
        let page = fixture.json(&words).await;
        seen.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap().to_owned()));
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["job 0", "job 1", "job 2", "job 3", "job 4"]);

    fixture.json(&["pause", "mail", "--for", "15m"]).await;
    assert_eq!(fixture.json(&["stats", "mail"]).await["paused"], true);
    assert!(fixture.queue(&["ls"]).await.out.contains("paused until"));
    fixture.json(&["resume", "mail"]).await;
    assert_eq!(fixture.json(&["stats", "mail"]).await["paused"], false);

    for (words, empty) in [
        (&["dead", "ls", "mail"][..], "queue mail: no dead letters\n"),
        (&["peek", "mail", "--state", "running"], "queue mail: no running jobs (see also --state waiting"),
    ] {
        let none = fixture.queue(words).await;
        assert!(none.code == 0 && none.out.starts_with(empty), "{}", none.out);
    }

    let once = fixture.queue(&["top"]).await;
    assert_eq!(once.code, 0);
    assert!(!once.out.contains('\x1b'), "output that is not a terminal has no escape sequences: {}", once.out);
}

#[tokio::test]
async fn alert_is_printed_and_sent_to_webhook() {
    let fixture = Fixture::new().await;
    fixture.add_dead_letters().await;
    let quiet = fixture.queue(&["watch", "--once", "--dead", "4"]).await;
    assert_eq!((quiet.code, quiet.out.as_str()), (0, ""));

    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/alerts?key=1", listener.local_addr().unwrap());
    let words = ["watch", "mail", "--once", "--dead", "3", "--webhook", &url];
    let (ran, received) = tokio::join!(fixture.queue(&words), receive(&listener));
    assert_eq!((ran.code, ran.out.as_str()), (1, "queue mail: 4 dead letters, the limit is 3\n"), "{}", ran.err);
    assert!(received.starts_with("POST /alerts?key=1 HTTP/1.1\r\n"), "{received}");
    let body: Value = serde_json::from_str(received.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!((&body["kind"], &body["raised"], &body["value"]), (&json!("dead_letters"), &json!(true), &json!(4)));
}

/// Accepts one POST, with status 204.
async fn receive(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut received = String::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).await.unwrap();
        received.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        if received.ends_with('}') || read == 0 {
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            return received;
        }
    }
}

/// Every error is one line on standard error with exit code 2, and does not repeat secrets.
// shows: hazard SF4
#[tokio::test]
async fn errors_are_one_line_and_exit_code_2() {
    let fixture = Fixture::new().await;
    let cases: &[(&[&str], &str)] = &[
        (&["stats", "male"], "no queue named male"),
        (&["job", "mail", "never"], "no job never"),
        (&["add", "mail", "no json"], "expects JSON"),
        (&["add", "mail", "\"\\ud800\""], "expects JSON"),
        (&["add", "mail", "1e999"], "expects JSON"),
        (&["add", "mail", "{}", "--id", ""], "an id must not be empty"),
        (&["add", "mail", "{}", "--at", "1800000000"], "multiply it by 1,000"),
        (&["reschedule", "mail", "x"], "nothing to change"),
        (&["amend", "mail", "x", "no json"], "expects JSON"),
        (&["amend", "mail", "never", "1"], "no job never"),
        (&["why", "male", "x"], "no queue named male"),
        (&["newest", "male"], "no queue named male"),
        (&["watch", "mail"], "nothing to watch"),
        (&["watch", "--dead", "1", "--webhook", "secret"], "--webhook is not a valid URL"),
    ];
    for (arguments, expected) in cases {
        let ran = fixture.queue(arguments).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(expected) && ran.err.lines().count() == 1, "{arguments:?}: {}", ran.err);
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
    let unreachable = evenkeel_async(&["queue", "--redis", "redis://u:hidden@127.0.0.1:1", "ls"]).await;
    assert_eq!((unreachable.code, unreachable.err.contains("hidden")), (2, false), "{}", unreachable.err);
}

#[tokio::test]
async fn grow_moves_jobs_and_can_be_repeated() {
    let fixture = Fixture::new().await;
    for number in 0..12 {
        fixture.add(&format!("job {number}"), &["--in", "1h"]).await;
    }
    let grown = fixture.queue(&["grow", "mail", "6"]).await;
    assert_eq!(grown.code, 0, "{}", grown.err);
    assert!(grown.out.starts_with("mail: 6 shards (before: 2), "), "{}", grown.out);
    let again = fixture.json(&["grow", "mail", "6"]).await;
    assert_eq!((&again["shards_before"], &again["shards"], &again["moved"]), (&json!(6), &json!(6), &json!(0)));
    assert_eq!(fixture.json(&["stats", "mail"]).await["shards"], 6);
    for number in 0..12 {
        assert_eq!(fixture.json(&["job", "mail", &format!("job {number}")]).await["state"], "waiting");
    }
    let refused = fixture.queue(&["grow", "mail", "8"]).await;
    assert_eq!((refused.code, refused.err.contains("must be a multiple")), (2, true), "{}", refused.err);
}

#[tokio::test]
async fn job_shows_progress_and_retry_delay() {
    let fixture = Fixture::new().await;
    let mail = fixture.keel.queue::<Value>("mail").open().await.unwrap();
    let delay = RetryDelay::fixed(Duration::from_secs(90));
    let id = mail.job(&json!({})).id("long").retry_delay(delay).enqueue().await.unwrap().id;
    let (noted, is_noted) = tokio::sync::oneshot::channel();
    let noted = std::sync::Mutex::new(Some(noted));
    let consumer = mail.consume(move |job: Delivery<Value>| {
        let noted = noted.lock().unwrap().take();
        async move {
            assert!(job.progress("row 7 of 9").await.unwrap());
            let _ = noted.map(|noted| noted.send(()));
            Ok::<_, String>(Handled::Snooze(Duration::from_secs(3_600)))
        }
    });
    consumer.run(async { is_noted.await.unwrap() }).await.unwrap();
    let job = fixture.json(&["job", "mail", &id.to_string()]).await;
    assert_eq!((&job["progress"], &job["retry_delay"]), (&json!("row 7 of 9"), &json!({ "fixed_ms": 90_000 })));
    let text = fixture.queue(&["job", "mail", "long"]).await.out;
    assert!(text.contains("row 7 of 9") && text.contains("retry delay"), "{text}");
}

#[tokio::test]
async fn top_refreshes_on_a_terminal_and_prints_once_to_a_pipe() {
    let fixture = Fixture::new().await;
    fixture.add("a", &["--in", "1h"]).await;
    let program = env!("CARGO_BIN_EXE_evenkeel");
    let line = format!("{program} queue --redis '{}' top --every 100ms", fixture.url);
    let screens = tokio::task::spawn_blocking(move || {
        // `script` runs the program on a pseudo-terminal, and copies its output.
        let mut script = Command::new("script");
        script.args(["-qefc", &line, "/dev/null"]);
        let mut terminal = script.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut out, mut seen, mut part) = (terminal.stdout.take().unwrap(), Vec::new(), [0; 4096]);
        while seen.windows(3).filter(|bytes| bytes == b"\x1b[J").count() < 3 {
            match out.read(&mut part).unwrap() {
                0 => break,
                read => seen.extend_from_slice(&part[..read]),
            }
        }
        terminal.kill().unwrap();
        terminal.wait().unwrap();
        String::from_utf8_lossy(&seen).into_owned()
    });
    let screens = screens.await.unwrap();
    assert!(screens.starts_with("\x1b[2J"), "the screen is cleared once: {screens:?}");
    assert_eq!(screens.matches("\x1b[2J").count(), 1);
    let mut refreshes = screens.split("\x1b[H").skip(1).take(3);
    assert_eq!(refreshes.clone().count(), 3, "{screens:?}");
    assert!(refreshes.all(|screen| screen.contains("DONE/S") && screen.contains("mail")), "{screens:?}");
    let once = fixture.queue(&["top"]).await;
    assert!(once.code == 0 && !once.out.contains('\x1b') && once.out.contains("mail"), "{}", once.out);
}
