//! Every action of the router is sent twice, as by a double click or a client without an answer: the second one changes nothing.

use super::routes::routes;
use super::server::{Console, FIRST, hold_time};
use super::streams::add_letters;
use evenkeel::lock::Guard;
use evenkeel::queue::topic::JobState;
use evenkeel::stream::EntryId;
use evenkeel::stream::admin::{GroupStats, LetterFilter};
use serde_json::{Value, json};
use sqlx::SqlitePool;
use std::time::Duration;
use testkit::park::Database;

const API: &str = "/api/v1/sources/default";
const WORK: &str = "00000000-0000-7000-8000-000000000001";
/// Actions that change no data.
const OTHERS: [&str; 3] = ["/login", "/logout", "/setup/check"];

/// A request: its path, further headers of a call of the API, and its fields or its body.
type Request = (String, String, String);

struct Fixture {
    console: Console,
    pool: SqlitePool,
    _database: Database,
    /// Dropping them would release the locks.
    _locks: [Guard; 2],
}

impl Fixture {
    /// Everything that actions change.
    async fn state(&self) -> String {
        let keel = &self.console.keel;
        let topic = keel.topic("mail").await.unwrap();
        let mut state = format!("{:?}\n", topic.stats().await.unwrap().total);
        for place in [JobState::Waiting, JobState::Leased, JobState::Dead] {
            state += &format!("{:?}\n", topic.peek(place, None, 100).await.unwrap().jobs);
        }
        let orders = keel.stream_admin("orders").await.unwrap();
        for group in orders.groups().await.unwrap() {
            // Its epoch rises with every seek.
            let of =
                |stats: &GroupStats| (stats.position, stats.pending, stats.dead, stats.parked_keys, stats.paused_until);
            let partitions: Vec<_> = group.partitions.iter().map(|stats| stats.as_ref().map(of)).collect();
            state += &format!("{} {partitions:?}\n", group.name);
        }
        for partition in 0..2 {
            state += &format!("{:?}\n", orders.peek(partition, EntryId::MIN, 100).await.unwrap());
        }
        let topics: Vec<String> =
            keel.topics().await.unwrap().found.iter().map(|topic| topic.name().to_owned()).collect();
        let streams: Vec<String> =
            keel.streams().await.unwrap().found.iter().map(|stream| stream.name().to_owned()).collect();
        state += &format!("{topics:?} {streams:?}\n");
        for name in ["stock", "dock"] {
            state += &self.console.get(&format!("{API}/locks?name={name}"), "").await.text;
        }
        for (table, columns) in [
            ("evenkeel_outbox", "hex(id) || state || attempts"),
            ("evenkeel_outbox_keys", "topic || message_key || attempts || coalesce(parked_at, 0)"),
            ("evenkeel_inbox", "consumer_group || hex(message_id) || state"),
        ] {
            let rows = sqlx::AssertSqlSafe(format!("SELECT {columns} FROM {table} ORDER BY 1"));
            state += &format!("{:?}\n", sqlx::query_scalar::<_, String>(rows).fetch_all(&self.pool).await.unwrap());
        }
        state
    }

    async fn send(&self, (path, headers, body): &Request, form: &str, csrf: &str) -> u16 {
        let sent = match path.starts_with(API) {
            true => {
                let headers = format!("content-type: application/json\r\n{headers}");
                self.console.send("POST", path, &headers, body).await
            }
            false => self.console.send("POST", path, form, &format!("csrf={csrf}&{body}")).await,
        };
        assert!(sent.status < 500, "{path}: {}", sent.text);
        sent.status
    }
}

/// An action whose resend acts again is not in the list of what holds (V5). One that is added to the router is added here, or this fails.
// shows: hazard CL1
#[tokio::test]
async fn every_action_that_is_resent_changes_nothing_more() {
    let (fixture, requests) = filled().await;
    let template = |path: &str| {
        let is_id = |part: &&str| part.len() >= 16 && part.bytes().any(|byte| byte.is_ascii_digit());
        let parts = path.split('/').map(|part| if is_id(&part) { "ID" } else { part });
        parts.collect::<Vec<_>>().join("/").replace("shipping", "billing")
    };
    let listed: Vec<String> = requests.iter().map(|(path, ..)| template(path)).collect();
    for (_, path, ..) in routes().iter().filter(|(method, ..)| method == "POST") {
        let is_here = listed.contains(&template(path)) || OTHERS.contains(&path.as_str());
        assert!(is_here, "{path} is not in the list: {listed:?}");
    }
    let (cookie, csrf) = fixture.console.visit("/queues/mail", "").await;
    let form = fixture.console.form(&cookie);
    for request in &requests {
        let first = fixture.send(request, &form, &csrf).await;
        let after = fixture.state().await;
        let is_done = [200, 303].contains(&first);
        assert!(is_done, "{request:?}: {first}");
        fixture.send(request, &form, &csrf).await;
        let again = fixture.state().await;
        assert!(again == after, "{request:?} acted twice; after it:\n{after}\n\nand after the second one:\n{again}");
    }
}

/// A console with a database, and a request for each action, which finds something to change.
#[expect(clippy::too_many_lines, reason = "one list, with what each of its requests changes")]
async fn filled() -> (Fixture, Vec<Request>) {
    let (database, pool) = crate::outbox::outbox().await;
    let message = "INSERT INTO evenkeel_inbox (consumer_group, message_id, state, seen_at, met) \
                   VALUES ('accounts', x'37', 2, 1, 3), ('accounts', x'38', 2, 1, 3)";
    let more = "INSERT INTO evenkeel_outbox_keys (topic, message_key, last_sequence, sent_sequence, due_at, attempts, parked_at, error) \
                VALUES ('links', 'b', 5, 3, 9000000000000000, 20, 1, 'too large')";
    for rows in [message, more] {
        sqlx::raw_sql(rows).execute(&pool).await.unwrap();
    }
    let console = Console::start_with(false, Some(&database.url)).await;
    for error in ["first error", "second error", "third error", "fourth error", "no use"] {
        console.add_dead_many(if error == "no use" { 6 } else { 2 }, error).await;
    }
    let values: Vec<Value> = (0..8).map(|number| json!(number)).collect();
    let orders = add_letters(&console, &values, "no stock").await;
    let other = orders.group("shipping").handle(|_: evenkeel::stream::Entry<Value>| async { Ok::<_, String>(()) });
    other.run(std::future::ready(())).await.unwrap();
    let topic = console.keel.topic("mail").await.unwrap();
    let letters = topic.previews(JobState::Dead, None, 100).await.unwrap().jobs;
    let dead: Vec<String> = letters.iter().take(6).map(|letter| letter.listed.id.to_string()).collect();
    let page = orders.admin().dead("billing").unwrap().page(&LetterFilter::default(), None, 100).await.unwrap();
    let letter: Vec<String> = page.letters.iter().map(|(id, _)| id.to_string()).collect();
    let mail = console.keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    let mut waits = Vec::new();
    for _ in 0..8 {
        waits.push(mail.delay(Duration::from_secs(36_000), &json!("first")).await.unwrap().to_string());
    }
    let locks = ["stock", "dock"].map(|name| console.keel.lock(name).ttl(Duration::from_secs(300)).acquire());
    let [stock, dock] = locks;
    let (stock, dock) = (stock.await.unwrap(), dock.await.unwrap());
    let shown = console.get(&format!("{API}/topics/mail/jobs/{}", waits[3]), "").await.head;
    let tag = shown.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let seen = console.get(&format!("/queues/mail/jobs/{}", waits[7]), "").await.text;
    let seen = seen.split("name=\"seen\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let now = console.keel.link().unwrap().server_now_ms() + 1_000;
    hold_time(console.keel.link().unwrap(), now).await;
    let (at, until) = ("2040-01-01T00:00:00Z", "2208988800000");

    let (queue, job) = (format!("{API}/topics/mail"), |id: &str| format!("{API}/topics/mail/jobs/{id}"));
    let (stream, group) = (format!("{API}/streams/orders"), format!("{API}/streams/orders/groups/billing"));
    let key = "idempotency-key: a\r\n".to_owned();
    let call = |path: String, body: Value| (path, String::new(), body.to_string());
    let letters = |error: &str| json!({ "group": error, "until": "99999999999999" });
    let worker = json!({ "worker": "a".repeat(16), "sequence": 1, "settle": [], "want": 1, "lease_ms": 60_000 });
    let owner = json!({ "name": "desk", "owner": "a".repeat(32), "ttl_ms": 60_000 });
    let api = vec![
        call(format!("{API}/topics"), json!({ "name": "sms" })),
        call(format!("{API}/streams"), json!({ "name": "calls" })),
        call(format!("{queue}/pause"), json!({ "until": until })),
        call(format!("{queue}/resume"), json!({})),
        (format!("{queue}/jobs"), key.clone(), json!({ "jobs": [{ "body": 1, "at": until }] }).to_string()),
        call(format!("{}/run", job(&waits[0])), json!({})),
        call(format!("{}/reschedule", job(&waits[1])), json!({ "at": until })),
        call(format!("{}/revoke", job(&waits[2])), json!({})),
        (format!("{}/edit", job(&waits[3])), format!("if-match: {tag}\r\n"), json!({ "body": 2 }).to_string()),
        call(format!("{}/redrive", job(&dead[0])), json!({})),
        call(format!("{}/delete", job(&dead[1])), json!({ "confirm": "mail" })),
        (format!("{queue}/dead/redrive"), key.clone(), letters("first error").to_string()),
        (format!("{queue}/dead/delete"), key.replace('a', "b"), {
            let mut body = letters("second error");
            body["confirm"] = json!("mail");
            body.to_string()
        }),
        call(format!("{queue}/work"), worker),
        call(
            format!("{queue}/heartbeat"),
            json!({ "worker": "a".repeat(16), "lease_ms": 60_000, "held": [], "started": [] }),
        ),
        (
            format!("{stream}/entries"),
            key.replace('a', "c"),
            json!({ "entries": [{ "key": "a", "body": 1 }] }).to_string(),
        ),
        call(format!("{group}/pause"), json!({ "until": until })),
        call(format!("{group}/resume"), json!({})),
        call(format!("{group}/dead/replay"), json!({ "ids": [letter[0]] })),
        call(format!("{group}/dead/delete"), json!({ "ids": [letter[1]], "confirm": "billing" })),
        call(format!("{group}/seek"), json!({ "to": "end", "confirm": "billing" })),
        call(format!("{API}/streams/orders/groups/shipping/unregister"), json!({ "confirm": "shipping" })),
        call(
            format!("{API}/locks/break"),
            json!({ "name": "stock", "fence": stock.fence().to_string(), "confirm": "stock" }),
        ),
        call(format!("{API}/locks/acquire"), owner.clone()),
        call(format!("{API}/locks/renew"), owner.clone()),
        call(format!("{API}/locks/release"), json!({ "name": "desk", "owner": owner["owner"] })),
        call(format!("{API}/caches/mail/invalidate"), json!({ "key": "42" })),
    ];
    let form = |path: String, fields: String| (path, String::new(), fields);
    let job = |id: &str, what: &str| format!("/queues/mail/jobs/{id}/{what}");
    let group = |what: &str| format!("/streams/orders/groups/billing/{what}");
    let of = |error: &str, name: u8| format!("group={error}&name={name:016}&from={FIRST}&until=99999999999999");
    let forms = vec![
        form("/queues/mail/pause".to_owned(), format!("until={at}")),
        form("/queues/mail/resume".to_owned(), String::new()),
        form(job(&waits[4], "run"), String::new()),
        form(job(&waits[5], "reschedule"), "delay=2h".to_owned()),
        form(job(&waits[6], "revoke"), String::new()),
        form(job(&waits[7], "edit"), format!("seen={seen}&body=2")),
        form(job(&dead[2], "redrive"), String::new()),
        form(job(&dead[3], "delete"), "confirm=mail".to_owned()),
        form("/queues/mail/dead/redrive".to_owned(), of("third+error", 1)),
        form("/operations/0000000000000001/stop".to_owned(), String::new()),
        form("/queues/mail/dead/delete".to_owned(), of("fourth+error", 2) + "&confirm=mail"),
        form(group("pause"), format!("until={at}")),
        form(group("resume"), String::new()),
        form(format!("{}/replay", group(&format!("dead/{}", letter[2]))), String::new()),
        form(format!("{}/delete", group(&format!("dead/{}", letter[3]))), "confirm=billing".to_owned()),
        form(group("dead/replay"), "q=&until=99999999999999&confirm=billing".to_owned()),
        form(group("seek"), "to=end&confirm=billing".to_owned()),
        form("/caches/invalidate".to_owned(), "cache=user&key=42&mode=purge".to_owned()),
        form("/locks/break".to_owned(), format!("name=dock&fence={}&confirm=dock", dock.fence())),
        form("/outbox/resend".to_owned(), format!("work={WORK}")),
        form("/outbox/skip".to_owned(), "topic=links&key=b&confirm=links".to_owned()),
        form("/inbox/resend".to_owned(), "group=accounts&message=37".to_owned()),
        form("/inbox/skip".to_owned(), "group=accounts&message=38&confirm=accounts".to_owned()),
        form(group("dead/delete"), "q=&until=99999999999999&confirm=billing".to_owned()),
        form(group("unregister"), "confirm=billing".to_owned()),
        call(format!("{API}/operations/0000000000000001/stop"), json!({})),
    ];
    let requests = api.into_iter().chain(forms).collect();
    (Fixture { console, pool, _database: database, _locks: [stock, dock] }, requests)
}
