//! Every command among names, bodies, errors and metadata of other programs: none controls the terminal or forges a line.

use crate::console::processes::write_report;
use crate::outbox::outbox;
use crate::program::{evenkeel, evenkeel_async};
use evenkeel::Keel;
use evenkeel::queue::{Delivery, Handled};
use evenkeel::stream::{Entry, OnFailure};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use testkit::{eventually, park};

const EVIL: &str = "\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{2066}\u{2028}\r\nfence    999";
/// Commands that print no text of another program (`demo` serves one of its own), and those that run until they are stopped: `serve` is tested in
/// a browser, `top` on a pseudo-terminal.
const OTHERS: [&str; 10] = [
    "alerts prometheus",
    "alerts grafana",
    "alerts page",
    "completions",
    "demo",
    "man",
    "queue top",
    "serve",
    "token new",
    "top",
];

/// The commands that have no further ones below them, from their manual pages.
fn commands() -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(evenkeel(&["man", folder.path().to_str().unwrap()]).code, 0);
    let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let all: Vec<String> = files.map(|file| file.strip_suffix(".1").unwrap().to_owned()).collect();
    let has_none = |name: &&String| !all.iter().any(|other| other.starts_with(&format!("{name}-")));
    let words = |name: &String| name.strip_prefix("evenkeel-").unwrap().replace('-', " ");
    all.iter().filter(has_none).map(words).collect()
}

/// Jobs, letters, locks, an entry of a cache, and a process with such texts.
async fn fill(keel: &Keel) {
    let mail = keel.queue::<Value>("mail").shards(2).retries(0).open().await.unwrap();
    mail.job(&json!(EVIL)).id("dies").enqueue().await.unwrap();
    let (died, mut deaths) = tokio::sync::mpsc::unbounded_channel();
    let consumer = mail.consume(move |_: Delivery<Value>| {
        let _ = died.send(());
        async { Err::<Handled, _>(EVIL) }
    });
    consumer.run(async { deaths.recv().await.unwrap() }).await.unwrap();
    // The width of a format has 16 bits.
    let body = json!(format!("{EVIL}{}", "x".repeat(70_000)));
    mail.job(&body).id(EVIL).delay(Duration::from_secs(3_600)).enqueue().await.unwrap();

    let orders = keel.stream::<Value>("orders").open().await.unwrap();
    orders.append(EVIL.to_owned(), &json!(EVIL)).await.unwrap();
    let consumer = orders.group("billing").per_key(OnFailure::BlockKey).retries(0);
    let consumer = consumer.handle(|_: Entry<Value>| async { Err::<(), _>(EVIL) });
    let admin = orders.admin();
    let is_dead = async || admin.groups().await.unwrap().iter().any(|group| group.dead() == 1).then_some(());
    consumer.run(async { eventually("the entry is a dead letter", is_dead).await.unwrap() }).await.unwrap();

    let users = keel.cache::<String, Value>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
    users.get(&EVIL.to_owned(), |_| async { Ok::<_, Infallible>(Some(json!(EVIL))) }).await.unwrap();
    let report = json!({
        "host": EVIL, "version": EVIL, "consumers": [{ "topic": EVIL, "slots": 3 }], "locks": [{ "lock": EVIL, "fence": 1 }],
        "jobs": [{ "topic": EVIL, "id": EVIL }], "schedules": [{ "topic": EVIL, "schedule": EVIL, "cron": EVIL }],
    });
    write_report(keel, &format!("{EVIL}.7.x"), &report.to_string()).await;
}

/// Names, errors and bodies of other programs rewrote the screen, forged lines, and one of 64 KiB made the program panic. A command that is added
/// to the program is added here, or this fails.
// shows: hazard CL4, hazard CL5
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one list of all commands")]
async fn text_of_other_programs_controls_no_terminal() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    fill(&keel).await;
    let lock = format!("stock{EVIL}");
    let guard = keel.lock(&lock).metadata(EVIL).acquire().await.unwrap();
    let (database, pool) = outbox().await;
    for parked in [
        "UPDATE evenkeel_outbox SET error = ?1",
        "UPDATE evenkeel_outbox_keys SET topic = ?1, message_key = ?1, error = ?1",
        "INSERT INTO evenkeel_inbox (consumer_group, message_id, state, seen_at, met) VALUES (?1, ?1, 2, 1, 3)",
    ] {
        sqlx::query(parked).bind(EVIL).execute(&pool).await.unwrap();
    }
    let servers = ["--redis", &url, "--database", &database.url];
    let (on_redis, on_database) = (&servers[..2], &servers[2..]);
    // Command, servers, arguments. Those that change something come last.
    let words: &[(&str, &[&str], &[&str])] = &[
        ("doctor", &[], &[&redis.url, &database.url]),
        ("ps", on_redis, &[]),
        ("alerts watch", &servers, &["--once", "--rule", "QueueLate=0,1s"]),
        ("queue ls", on_redis, &[]),
        ("queue stats", on_redis, &["mail"]),
        ("queue peek", on_redis, &["mail"]),
        ("queue newest", on_redis, &["mail"]),
        ("queue find", on_redis, &["mail", "999"]),
        ("queue find", on_redis, &["mail", EVIL, "--state", "dead"]),
        ("queue job", on_redis, &["mail", "dies"]),
        ("queue job", on_redis, &["mail", EVIL]),
        ("queue why", on_redis, &["mail", "dies"]),
        ("queue why", on_redis, &["mail", EVIL]),
        ("queue watch", on_redis, &["--once", "--dead", "0", "--backlog", "0"]),
        ("queue dead ls", on_redis, &["mail"]),
        ("queue dead groups", on_redis, &["mail"]),
        ("lock ls", on_redis, &[]),
        ("lock show", on_redis, &[&lock]),
        ("stream ls", on_redis, &[]),
        ("stream show", on_redis, &["orders"]),
        ("stream groups", on_redis, &["orders"]),
        ("stream lag", on_redis, &["orders"]),
        ("stream peek", on_redis, &["orders"]),
        ("stream dead ls", on_redis, &["orders", "billing"]),
        ("cache show", on_redis, &["user", EVIL]),
        ("outbox ls", on_database, &[]),
        ("outbox stats", on_database, &[]),
        ("outbox park ls", on_database, &[]),
        ("inbox ls", on_database, &[]),
        ("queue create", on_redis, &["mail"]),
        ("queue add", on_redis, &["mail", "{}", "--id", EVIL]),
        ("queue amend", on_redis, &["mail", "dies", "1", "--seen", EVIL]),
        ("queue reschedule", on_redis, &["mail", EVIL, "--in", "2h"]),
        ("queue pause", on_redis, &["mail"]),
        ("queue resume", on_redis, &["mail"]),
        ("queue grow", on_redis, &["mail", "4"]),
        ("queue dead redrive", on_redis, &["mail", "--name", EVIL, "--error", EVIL, "--dry-run"]),
        ("queue dead rm", on_redis, &["mail", EVIL, "--confirm", "mail"]),
        ("queue run", on_redis, &["mail", EVIL]),
        ("queue revoke", on_redis, &["mail", EVIL]),
        ("lock release", on_redis, &[&lock, "--force", "--fence", "1", "--reason", EVIL]),
        ("stream create", on_redis, &["orders"]),
        ("stream pause", on_redis, &["orders", "billing"]),
        ("stream resume", on_redis, &["orders", "billing"]),
        ("stream seek", on_redis, &["orders", "billing", "--start", "--dry-run"]),
        ("stream trim", on_redis, &["orders", "--older-than", "1h", "--confirm", "orders"]),
        ("stream dead replay", on_redis, &["orders", "billing", "--key", EVIL, "--dry-run"]),
        ("stream dead rm", on_redis, &["orders", "billing", "--key", EVIL, "--all"]),
        ("stream unregister", on_redis, &["orders", EVIL]),
        ("cache invalidate", on_redis, &["user", EVIL]),
        ("outbox release", on_database, &["--topic", EVIL, "--key", EVIL, "--resend"]),
        ("outbox retry", on_database, &[]),
        ("outbox purge", on_database, &["--confirm"]),
        ("inbox release", on_database, &[EVIL, EVIL, "--run"]),
    ];
    for command in commands() {
        let is_here = words.iter().any(|(name, ..)| *name == command) || OTHERS.contains(&command.as_str());
        assert!(is_here, "`evenkeel {command}` is not in the list");
    }
    for (command, servers, arguments) in words {
        for json in [false, true] {
            let mut line: Vec<&str> = command.split(' ').chain(servers.iter().copied()).collect();
            line.extend(*arguments);
            line.extend(json.then_some("--json"));
            let ran = evenkeel_async(&line).await;
            // Neither a panic nor a wrong option.
            assert!(ran.code <= 2 && !ran.err.contains("Usage:"), "{line:?}: {}", ran.err);
            let is_unsafe = |c: char| c != '\n' && (c.is_control() || "\u{202e}\u{2066}\u{2028}".contains(c));
            let is_safe = !ran.out.contains(is_unsafe) && !ran.err.contains(is_unsafe);
            assert!(is_safe, "{line:?}: {:?}{:?}", ran.out, ran.err);
            let mut lines = ran.out.lines().chain(ran.err.lines());
            assert!(!lines.any(|line| line.starts_with("fence    999")), "{line:?}: {}{}", ran.out, ran.err);
            if json {
                let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&ran.out).into_iter().collect();
                assert!(values.is_ok(), "{line:?}: {}", ran.out);
            }
        }
    }
    drop(guard);
}
