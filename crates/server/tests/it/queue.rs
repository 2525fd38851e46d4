//! `evenkeel queue` against a real Redis.

use crate::program::{Ran, evenkeel};
use evenkeel::Keel;
use evenkeel::queue::steps::{Outcome, QueueSteps, SettleAndClaim, Settled, Shard};
use evenkeel::queue::{Delivery, Handled, RedisQueue, RetryDelay};
use serde_json::{Value, json};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;
use testkit::conformance::queue::Consumer;
use testkit::park::{self, SharedRedis};
use testkit::servers::{Redis, RedisOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// An operator does not know the prefix that a service has made for itself.
#[tokio::test]
async fn ls_names_the_prefixes_that_have_queues() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let ls = async |url: String| {
        tokio::task::spawn_blocking(move || evenkeel(&["queue", "--redis", &url, "ls"])).await.unwrap()
    };
    let empty = ls(redis.url()).await;
    assert_eq!(empty.code, 0, "{}", empty.err);
    assert!(
        empty.err.contains("no program has opened a queue under the prefix \"evenkeel\", nor under"),
        "{}",
        empty.err
    );
    let keel = Keel::connect(&format!("{}?prefix=evenkeel-EoOlXVI", redis.url())).await.unwrap();
    keel.queue::<Value>("mail").build().await.unwrap();
    let elsewhere = ls(redis.url()).await;
    assert_eq!(elsewhere.code, 1, "{}", elsewhere.err);
    assert!(elsewhere.err.contains("found under these prefixes: evenkeel-EoOlXVI (add ?prefix="), "{}", elsewhere.err);
}

/// A Redis with one opened topic `mail` of two shards.
struct Stage {
    _redis: SharedRedis,
    url: String,
    keel: Keel,
}

impl Stage {
    async fn set() -> Self {
        let redis = park::redis().await.unwrap();
        let url = format!("{}?prefix={}", redis.url, redis.prefix);
        let keel = Keel::connect(&url).await.unwrap();
        keel.queue::<Value>("mail").shards(2).build().await.unwrap();
        Self { _redis: redis, url, keel }
    }

    /// Runs `evenkeel queue ..` on it.
    async fn queue(&self, words: &[&str]) -> Ran {
        let words: Vec<String> = ["queue", "--redis", &self.url].iter().chain(words).map(ToString::to_string).collect();
        let run = move || evenkeel(&words.iter().map(String::as_str).collect::<Vec<_>>());
        tokio::task::spawn_blocking(run).await.unwrap()
    }

    /// The same with `--json`, which must succeed.
    async fn json(&self, words: &[&str]) -> Value {
        let ran = self.queue(&[words, &["--json"]].concat()).await;
        assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.out, ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Adds a job under an id of its own.
    async fn add(&self, id: &str, more: &[&str]) -> Value {
        self.json(&[&["add", "mail", &json!({ "to": id }).to_string(), "--id", id], more].concat()).await
    }

    /// Claims everything that is due and settles it like this.
    async fn settle(&self, outcome: &Outcome) -> usize {
        let link = self.keel.link().unwrap().clone();
        let (queue, mut settled) = (RedisQueue::new(link.clone()), 0);
        for number in 0..2 {
            let shard = Shard::new(link.prefix(), "mail", number);
            let mut consumer = Consumer::default();
            let Settled::Done(taken) = queue.settle_and_claim(&shard, &consumer.call(100)).await.unwrap() else {
                continue;
            };
            let settlements: Vec<_> =
                taken.deliveries.iter().map(|delivered| (delivered.receipt, outcome.clone())).collect();
            settled += settlements.len();
            queue.settle_and_claim(&shard, &SettleAndClaim { settlements, ..consumer.call(0) }).await.unwrap();
        }
        settled
    }

    async fn letters(&self) {
        for id in ["a", "b", "c", "d"] {
            self.add(id, &[]).await;
        }
        assert_eq!(self.settle(&Outcome::Dead { reason: "no route to host".into() }).await, 4);
    }
}

#[tokio::test]
async fn a_jobs_life_is_seen_and_changed() {
    let stage = Stage::set().await;
    let added = stage.add("welcome/42", &["--in", "1h", "--priority", "high"]).await;
    assert_eq!(added["answer"], "created");
    let again = stage.queue(&["add", "mail", "{}", "--id", "welcome/42"]).await;
    assert_eq!((again.code, again.out.contains("waits or runs")), (1, true), "{}", again.out);

    let job = stage.json(&["job", "mail", "welcome/42"]).await;
    assert_eq!((&job["state"], &job["name"]), (&json!("waiting"), &json!("welcome/42")));
    assert_eq!((&job["priority"], &job["body"]), (&json!("high"), &json!({ "to": "welcome/42" })));
    let hex = added["id"].as_str().unwrap();
    let text = stage.queue(&["job", "mail", hex]).await.out;
    assert!(text.contains("sender's id") && text.contains("in 59 m"), "{text}");

    let moved = stage.json(&["reschedule", "mail", hex, "--in", "2h", "--body", r#"{"to":1}"#]).await;
    assert_eq!(moved[0]["ok"], true);
    assert_eq!(stage.json(&["job", "mail", hex]).await["body"], json!({ "to": 1 }));
    stage.json(&["run", "mail", hex]).await;
    assert_eq!(stage.json(&["stats", "mail"]).await["due"], 1);
    assert_eq!(stage.settle(&Outcome::Done).await, 1);
    let ended = stage.json(&["job", "mail", hex]).await;
    assert_eq!((&ended["state"], &ended["end"]), (&json!("ended"), &json!("Done")));

    let refused = stage.queue(&["revoke", "mail", hex, "never/seen"]).await;
    assert_eq!(refused.code, 1);
    assert_eq!(refused.out.lines().filter(|line| line.contains("not revoked")).count(), 2, "{}", refused.out);
    stage.add("later", &["--in", "1d"]).await;
    let revoked = stage.queue(&["revoke", "mail", "later"]).await;
    assert_eq!((revoked.code, revoked.out.as_str()), (0, "later revoked\n"));
}

#[tokio::test]
async fn topics_are_listed_and_paged() {
    let stage = Stage::set().await;
    for number in 0..5 {
        stage.add(&format!("job {number}"), &["--in", &format!("{}m", number + 1)]).await;
    }
    let list = stage.json(&["ls"]).await;
    assert_eq!((&list[0]["topic"], &list[0]["shards"], &list[0]["waiting"]), (&json!("mail"), &json!(2), &json!(5)));
    let table = stage.queue(&["ls"]).await.out;
    assert!(table.starts_with("TOPIC") && table.lines().count() == 2, "{table}");

    let (mut seen, mut after): (Vec<String>, Option<String>) = (Vec::new(), None);
    loop {
        let mut words = vec!["peek", "mail", "--limit", "2"];
        words.extend(after.iter().flat_map(|after| ["--after", after.as_str()]));
        let page = stage.json(&words).await;
        seen.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap().to_owned()));
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["job 0", "job 1", "job 2", "job 3", "job 4"]);

    stage.json(&["pause", "mail", "--for", "15m"]).await;
    assert_eq!(stage.json(&["stats", "mail"]).await["paused"], true);
    assert!(stage.queue(&["ls"]).await.out.contains("paused until"));
    stage.json(&["resume", "mail"]).await;
    assert_eq!(stage.json(&["stats", "mail"]).await["paused"], false);

    for (words, empty) in [
        (&["dead", "ls", "mail"][..], "queue mail: no dead letters; nothing is to be done\n"),
        (&["peek", "mail", "--state", "running"], "queue mail: no job runs; peek with --state waiting or"),
    ] {
        let none = stage.queue(words).await;
        assert!(none.code == 0 && none.out.starts_with(empty), "{}", none.out);
    }

    let once = stage.queue(&["top"]).await;
    assert_eq!(once.code, 0);
    assert!(!once.out.contains('\x1b'), "what is no terminal gets no pictures: {}", once.out);
}

#[tokio::test]
async fn dead_letters_are_sent_back_and_deleted() {
    let stage = Stage::set().await;
    stage.letters().await;
    let listed = stage.queue(&["dead", "ls", "mail"]).await.out;
    assert_eq!(listed.matches("no route to host").count(), 4, "{listed}");

    let dry = stage.queue(&["dead", "redrive", "mail", "--error", "no route", "--dry-run"]).await;
    assert_eq!(dry.out, "4 of 4 dead letters would be redriven\n");
    let none = stage.json(&["dead", "redrive", "mail", "--error", "bad address"]).await;
    assert_eq!(none["taken"], 0);
    let two = stage.json(&["dead", "redrive", "mail", "--name", "fix", "--limit", "2"]).await;
    assert_eq!((&two["taken"], &two["taken_in_all"]), (&json!(2), &json!(2)));
    let rest = stage.queue(&["dead", "redrive", "mail", "--name", "fix"]).await;
    assert_eq!(rest.out, "2 redriven by 'fix' (4 in all)\n");
    assert_eq!(stage.json(&["stats", "mail"]).await["waiting"], 4);

    assert_eq!(stage.settle(&Outcome::Dead { reason: "no route to host".into() }).await, 4);
    let history = stage.queue(&["job", "mail", "a"]).await.out;
    assert_eq!(
        (history.matches("no use to try again").count(), history.matches("redriven").count()),
        (2, 1),
        "{history}"
    );
    let removed = stage.queue(&["dead", "rm", "mail", "a", "unknown"]).await;
    assert_eq!((removed.code, removed.out.as_str()), (1, "a deleted\nunknown no dead letter\n"));
    let unconfirmed = stage.queue(&["dead", "rm", "mail", "--all"]).await;
    assert_eq!(unconfirmed.code, 2);
    assert!(unconfirmed.err.contains("--all --confirm mail"), "{}", unconfirmed.err);
    let wrong = stage.queue(&["dead", "rm", "mail", "--all", "--confirm", "male"]).await;
    assert_eq!((wrong.code, stage.json(&["stats", "mail"]).await["dead"].clone()), (2, json!(3)));
    stage.json(&["dead", "rm", "mail", "--all", "--confirm", "mail"]).await;
    assert_eq!(stage.json(&["stats", "mail"]).await["dead"], 0);
}

#[tokio::test]
async fn an_alert_stands_and_reaches_the_webhook() {
    let stage = Stage::set().await;
    stage.letters().await;
    let quiet = stage.queue(&["watch", "--once", "--dead", "4"]).await;
    assert_eq!((quiet.code, quiet.out.as_str()), (0, ""));

    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/alerts?key=1", listener.local_addr().unwrap());
    let words = ["watch", "mail", "--once", "--dead", "3", "--webhook", &url];
    let (ran, received) = tokio::join!(stage.queue(&words), receive(&listener));
    assert_eq!((ran.code, ran.out.as_str()), (1, "queue mail: 4 dead letters, the limit is 3\n"), "{}", ran.err);
    assert!(received.starts_with("POST /alerts?key=1 HTTP/1.1\r\n"), "{received}");
    let body: Value = serde_json::from_str(received.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!((&body["kind"], &body["raised"], &body["value"]), (&json!("dead_letters"), &json!(true), &json!(4)));
}

/// Takes one POST and says yes.
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

/// Every mistake is one sentence on standard error and exit code 2, and no password is repeated.
#[tokio::test]
async fn mistakes_are_one_sentence() {
    let stage = Stage::set().await;
    let cases: &[(&[&str], &str)] = &[
        (&["stats", "male"], "no queue called male"),
        (&["job", "mail", "never"], "no job never"),
        (&["add", "mail", "no json"], "holds JSON"),
        (&["reschedule", "mail", "x"], "say what shall change"),
        (&["watch", "mail"], "say what to watch"),
        (&["watch", "--dead", "1", "--webhook", "secret"], "--webhook is no address"),
    ];
    for (words, wanted) in cases {
        let ran = stage.queue(words).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{words:?}");
        assert!(ran.err.contains(wanted) && ran.err.lines().count() == 1, "{words:?}: {}", ran.err);
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
    let away = tokio::task::spawn_blocking(|| evenkeel(&["queue", "--redis", "redis://u:hidden@127.0.0.1:1", "ls"]));
    let away = away.await.unwrap();
    assert_eq!((away.code, away.err.contains("hidden")), (2, false), "{}", away.err);
}

#[tokio::test]
async fn a_topic_grows_from_the_command_line() {
    let stage = Stage::set().await;
    for number in 0..12 {
        stage.add(&format!("job {number}"), &["--in", "1h"]).await;
    }
    let grown = stage.queue(&["grow", "mail", "6"]).await;
    assert_eq!(grown.code, 0, "{}", grown.err);
    assert!(grown.out.starts_with("mail: spread over 6 shards (before: 2), "), "{}", grown.out);
    let again = stage.json(&["grow", "mail", "6"]).await;
    assert_eq!((&again["shards_before"], &again["shards"], &again["moved"]), (&json!(6), &json!(6), &json!(0)));
    assert_eq!(stage.json(&["stats", "mail"]).await["shards"], 6);
    for number in 0..12 {
        assert_eq!(stage.json(&["job", "mail", &format!("job {number}")]).await["state"], "waiting");
    }
    let refused = stage.queue(&["grow", "mail", "8"]).await;
    assert_eq!((refused.code, refused.err.contains("grows to a multiple")), (2, true), "{}", refused.err);
}

#[tokio::test]
async fn a_job_shows_its_progress_and_its_delay() {
    let stage = Stage::set().await;
    let mail = stage.keel.queue::<Value>("mail").build().await.unwrap();
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
    let job = stage.json(&["job", "mail", &id.to_string()]).await;
    assert_eq!((&job["progress"], &job["retry_delay"]), (&json!("row 7 of 9"), &json!({ "fixed_ms": 90_000 })));
    let text = stage.queue(&["job", "mail", "long"]).await.out;
    assert!(text.contains("row 7 of 9") && text.contains("between attempts"), "{text}");
}

/// On a terminal `top` renews its table in place; a program that cannot tell a terminal from a pipe prints once, or for ever.
#[tokio::test]
async fn top_renews_itself_on_a_terminal() {
    let stage = Stage::set().await;
    stage.add("a", &["--in", "1h"]).await;
    let program = env!("CARGO_BIN_EXE_evenkeel");
    let line = format!("{program} queue --redis '{}' top --every 100ms", stage.url);
    let pictures = tokio::task::spawn_blocking(move || {
        // `script` gives the program a pseudo-terminal, and passes on what it writes there.
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
    let pictures = pictures.await.unwrap();
    assert!(pictures.starts_with("\x1b[2J"), "the screen is cleared once: {pictures:?}");
    assert_eq!(pictures.matches("\x1b[2J").count(), 1);
    let mut whole = pictures.split("\x1b[H").skip(1).take(3);
    assert_eq!(whole.clone().count(), 3, "{pictures:?}");
    assert!(whole.all(|picture| picture.contains("DONE/S") && picture.contains("mail")), "{pictures:?}");
    // Into a pipe it prints once, and ends.
    let once = stage.queue(&["top"]).await;
    assert!(once.code == 0 && !once.out.contains('\x1b') && once.out.contains("mail"), "{}", once.out);
}
