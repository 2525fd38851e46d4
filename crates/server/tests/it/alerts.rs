//! `evenkeel alerts watch`: a rehearsal of failures against real servers. The alerts are events of the program; nothing waits for time.

use crate::program::evenkeel_async;
use evenkeel::Keel;
use evenkeel::queue::{Delivery, Handled, Queue};
use evenkeel::stream::{self, Entry, OnFailure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;
use testkit::park::{self, sqlite_database};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};

/// The outcome of a handler of entries.
type Handling = fn() -> stream::Handled;

/// How long a test waits for an alert.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The program, and the alerts that fire.
struct Watch {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    firing: BTreeSet<String>,
}

impl Watch {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["alerts", "watch", "--json", "--every", "100ms"])
            .args(arguments)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { _child: child, lines, firing: BTreeSet::new() }
    }

    /// Reads alerts until exactly these fire.
    async fn until(&mut self, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        while self.firing != expected {
            let line = tokio::time::timeout(WAIT_MAX, self.lines.next_line()).await;
            let Ok(line) = line else { unreachable!("{:?} fire, expected {expected:?}", self.firing) };
            let notice: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
            let alert = format!("{} {}", notice["rule"].as_str().unwrap(), notice["subject"].as_str().unwrap());
            match notice["state"].as_str().unwrap() {
                "firing" => assert!(self.firing.insert(alert), "it fires twice: {notice}"),
                _ => assert!(self.firing.remove(&alert), "it did not fire: {notice}"),
            }
        }
    }
}

/// Handles jobs with this outcome until as many as this are handled.
async fn consume(queue: &Queue<Value>, outcome: fn() -> Handled, count: usize) {
    let (handled, mut done) = mpsc::unbounded_channel();
    let consumer = queue.consume(move |_: Delivery<Value>| {
        let handled = handled.clone();
        async move {
            let _ = handled.send(());
            Ok::<_, String>(outcome())
        }
    });
    let is_over = async {
        for _ in 0..count {
            done.recv().await.unwrap();
        }
    };
    consumer.run(is_over).await.unwrap();
}

#[tokio::test]
async fn alerts_fire_when_relay_backlog_and_handler_fail_and_clear_afterwards() {
    let (redis, database) = (park::redis().await.unwrap(), sqlite_database().unwrap());
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let pool = sqlx::SqlitePool::connect(&database.url).await.unwrap();
    evenkeel::sql::migrate(&pool).await.unwrap();
    let keel = Keel::connect(&url).await.unwrap();
    let queue = keel.queue::<Value>("mail").open().await.unwrap();
    let rules = ["--rule", "OutboxLag=30,0s", "--rule", "QueueBacklog=3,0s", "--rule", "QueueIdle=0,0s"];
    let servers = ["--redis", &url, "--database", &database.url];
    let mut watch = Watch::start(&[&servers[..], &rules[..]].concat());

    // No relay runs, and a unit of work waits.
    let waiting = "INSERT INTO evenkeel_outbox (id, state, effects, attempts, created_at, due_at) \
                   VALUES (x'00000000000070008000000000000001', 1, x'01', 0, 1, 1)";
    sqlx::raw_sql(waiting).execute(&pool).await.unwrap();
    watch.until(&["OutboxLag outbox"]).await;

    // A backlog without a consumer.
    for number in 0..5 {
        queue.job(&json!({ "user": number })).enqueue().await.unwrap();
    }
    watch.until(&["OutboxLag outbox", "QueueBacklog mail", "QueueIdle mail"]).await;

    // A consumer whose handler is broken.
    consume(&queue, || Handled::Dead("smtp refused".to_owned()), 5).await;
    watch.until(&["DeadLetters mail", "OutboxLag outbox"]).await;

    // The relay is back.
    let (stop, stopped) = oneshot::channel::<()>();
    let relay = keel.relay(&pool);
    let relay = tokio::spawn(async move { relay.run(async { drop(stopped.await) }).await });
    watch.until(&["DeadLetters mail"]).await;
    drop(stop);
    relay.await.unwrap();

    // The handler is mended.
    let redriven = evenkeel_async(&["queue", "--redis", &url, "dead", "redrive", "mail"]).await;
    assert_eq!(redriven.code, 0, "{}", redriven.err);
    consume(&queue, || Handled::Done, 5).await;
    watch.until(&[]).await;
}

/// The next request: its connection, its headers, and the notice in its body.
async fn request(listener: &TcpListener) -> (TcpStream, String, Value) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let (mut received, mut part) = (Vec::new(), [0; 4096]);
    while !received.ends_with(b"}") {
        let read = stream.read(&mut part).await.unwrap();
        received.extend_from_slice(&part[..read]);
    }
    let text = String::from_utf8(received).unwrap();
    let (headers, body) = text.split_once("\r\n\r\n").unwrap();
    (stream, headers.to_ascii_lowercase(), serde_json::from_str(body).unwrap())
}

async fn respond(mut stream: TcpStream, status: &str) {
    stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await.unwrap();
}

/// Answers requests until one was accepted; the first ones are refused. Returns the bodies.
async fn receive(listener: &TcpListener, refused: usize) -> Vec<Value> {
    let mut bodies = Vec::new();
    while bodies.len() <= refused {
        let (stream, headers, body) = request(listener).await;
        assert!(headers.contains("authorization: basic "), "{headers}");
        respond(stream, if bodies.len() < refused { "503 Service Unavailable" } else { "204 No Content" }).await;
        bodies.push(body);
    }
    bodies
}

// shows: hazard PO8
#[tokio::test]
async fn refused_notice_is_repeated_with_the_same_id() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    let queue = keel.queue::<Value>("mail").open().await.unwrap();
    queue.job(&json!({})).enqueue().await.unwrap();
    consume(&queue, || Handled::Dead("smtp refused".to_owned()), 1).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let webhook = format!("http://ops:secret@{}/hook", listener.local_addr().unwrap());
    let arguments = ["alerts", "watch", "--once", "--every", "100ms", "--redis", &url, "--webhook", &webhook];
    let of_console = ["--console", "https://ops.example.com/"];
    let arguments = [&arguments[..], &of_console[..]].concat();
    let (ran, bodies) = tokio::join!(evenkeel_async(&arguments), receive(&listener, 2));
    assert_eq!(ran.code, 1, "an alert fires: {}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("DeadLetters fires for mail: 1 (limit 0): "), "{}", ran.out);
    assert!(
        ran.err.contains("the webhook did not accept DeadLetters/mail/") && !ran.err.contains("/hook"),
        "{}",
        ran.err
    );
    assert!(!ran.err.contains("secret") && !ran.out.contains("TOPIC"), "{}{}", ran.err, ran.out);
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:#?}");
    let notice = &bodies[0];
    assert_eq!(
        (&notice["rule"], &notice["state"], &notice["page"]),
        (&json!("DeadLetters"), &json!("firing"), &json!("https://ops.example.com/queues/mail/dead"))
    );
}

/// A notice that the receiver answered with 400 held back every later one for ten minutes.
// shows: hazard PO8
#[tokio::test]
async fn rejected_notice_does_not_hold_back_other_alerts() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    for topic in ["mail", "sms"] {
        let queue = keel.queue::<Value>(topic).open().await.unwrap();
        queue.job(&json!({})).enqueue().await.unwrap();
        consume(&queue, || Handled::Dead("smtp refused".to_owned()), 1).await;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let webhook = format!("http://{}/hook", listener.local_addr().unwrap());
    let _watch = Watch::start(&["--redis", &url, "--webhook", &webhook]);
    let (stream, _, first) = request(&listener).await;
    respond(stream, "400 Bad Request").await;
    let (mut rejected, mut next) = (1, request(&listener).await);
    while next.2["subject"] == first["subject"] {
        rejected += 1;
        assert!(rejected < 10, "only the rejected notice is sent: {first}");
        respond(next.0, "400 Bad Request").await;
        next = request(&listener).await;
    }
    respond(next.0, "204 No Content").await;
    // The rejected one is repeated.
    let (_, _, again) = request(&listener).await;
    assert_eq!(again["id"], first["id"]);
}

/// Regression: while the webhook hung, no rule was evaluated, and no alert printed.
// shows: hazard T9
#[tokio::test]
async fn hanging_webhook_does_not_delay_what_is_printed() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    let die = async |topic: &str| {
        let queue = keel.queue::<Value>(topic).open().await.unwrap();
        queue.job(&json!({})).enqueue().await.unwrap();
        consume(&queue, || Handled::Dead("smtp refused".to_owned()), 1).await;
    };
    die("mail").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let webhook = format!("http://{}/hook", listener.local_addr().unwrap());
    let mut watch = Watch::start(&["--redis", &url, "--webhook", &webhook]);
    watch.until(&["DeadLetters mail"]).await;
    let (stream, _, first) = request(&listener).await;
    assert_eq!(first["subject"], "mail");
    die("sms").await;
    watch.until(&["DeadLetters mail", "DeadLetters sms"]).await;
    let closed = stream.try_read(&mut [0; 1]);
    assert!(
        matches!(&closed, Err(error) if error.kind() == ErrorKind::WouldBlock),
        "it printed after the time-out: {closed:?}"
    );
}

#[tokio::test]
async fn alerts_fire_for_lag_and_dead_letters_of_a_group() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    let orders = keel.stream::<Value>("orders").open().await.unwrap();
    let handle_one = async |outcome: Handling| {
        let (handled, is_handled) = oneshot::channel::<()>();
        let handled = Mutex::new(Some(handled));
        let consumer = orders.group("billing").per_key(OnFailure::BlockKey).handle(move |_: Entry<Value>| {
            drop(handled.lock().unwrap().take());
            async move { Ok::<_, String>(outcome()) }
        });
        let is_over = async { drop(is_handled.await) };
        consumer.run(is_over).await.unwrap();
    };
    orders.append("order/7", &json!(1)).await.unwrap();
    handle_one(|| stream::Handled::Dead("the card was declined".to_owned())).await;
    let mut watch = Watch::start(&["--redis", &url, "--rule", "StreamLate=0,0s"]);
    watch.until(&["StreamDeadLetters orders/billing"]).await;

    // No consumer runs, and an entry waits.
    orders.append("order/7", &json!(2)).await.unwrap();
    watch.until(&["StreamDeadLetters orders/billing", "StreamLate orders/billing"]).await;
    handle_one(|| stream::Handled::Done).await;
    watch.until(&["StreamDeadLetters orders/billing"]).await;

    let words = ["stream", "--redis", &url, "dead", "replay", "orders", "billing", "--all", "--confirm", "billing"];
    let replayed = evenkeel_async(&words).await;
    assert_eq!(replayed.code, 0, "{}", replayed.err);
    handle_one(|| stream::Handled::Done).await;
    watch.until(&[]).await;
}

#[tokio::test]
async fn unreachable_redis_is_an_alert() {
    let mut watch = Watch::start(&["--redis", "redis://127.0.0.1:1", "--rule", "RedisDown=1,0s", "--rule", "NoData=0"]);
    watch.until(&["NoData redis", "RedisDown redis"]).await;
}
