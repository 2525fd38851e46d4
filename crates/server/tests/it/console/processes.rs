//! The pages with what processes report.

use super::server::Console;
use evenkeel::Keel;
use evenkeel::cache::Cache;
use serde_json::Value;
use std::time::Duration;
use testkit::browser::{Browser, Shot, fits};

/// All pages that show reports.
const PAGES: [&str; 4] = ["/workers", "/caches", "/schedules", "/locks"];
/// The same as JSON.
const API: &str = "/api/v1/sources/default/processes";

#[tokio::test]
async fn pages_without_reports_say_so() {
    let console = Console::start(false).await;
    for path in PAGES {
        let page = console.get(path, "").await;
        assert!(page.status == 200 && page.text.contains("Not reported"), "{path}: {}", page.text);
    }
    assert!(console.get("/", "").await.text.contains("not reported"));
    let api = console.get(API, "").await;
    assert!(api.status == 200 && api.text.contains(r#""processes":[]"#), "{}", api.text);
}

#[tokio::test]
async fn pages_show_what_processes_report() {
    let console = Console::start(false).await;
    let keel = &console.keel;
    let users: Cache<u64, u64> = keel.cache("user").ttl(Duration::from_secs(60)).open().await.unwrap();
    let load = async |key: u64| Ok::<_, std::io::Error>(Some(key));
    for key in [1, 1, 1, 2] {
        users.get(&key, |key| load(*key)).await.unwrap();
    }
    let guard = keel.lock("stock/42").acquire().await.unwrap();
    let mail = keel.queue::<Value>("mail").retries(0).open().await.unwrap();
    let nightly = mail.periodic("nightly", "0 3 * * *".parse().unwrap(), |_| Value::Null);
    let running = tokio::spawn(nightly.run(std::future::pending()));
    testkit::eventually("the schedule has its next tick", async || {
        keel.report_once().await.unwrap();
        let found = keel.processes().await.unwrap();
        found.processes[0].report.as_ref().unwrap().schedules.first()?.next_ms
    })
    .await
    .unwrap();

    let workers = console.get("/workers", "").await.text;
    assert!(workers.contains("✓ alive") && workers.contains(&format!("/ {}", std::process::id())), "{workers}");
    let caches = console.get("/caches", "").await.text;
    assert!(caches.contains("<td>user</td>") && caches.contains("50.0 %"), "{caches}");
    let schedules = console.get("/schedules", "").await.text;
    assert!(schedules.contains("<td>nightly</td>") && schedules.contains("0 3 * * *"), "{schedules}");
    let locks = console.get("/locks", "").await.text;
    assert!(locks.contains("stock/42") && locks.contains(&guard.fence().to_string()), "{locks}");
    assert!(console.get("/", "").await.text.contains("1 alive"));
    let api = console.get(API, "").await.text;
    let process = serde_json::from_str::<Value>(&api).unwrap()["processes"][0].clone();
    let pid = std::process::id().to_string();
    assert!(process["is_alive"] == true && process["pid"] == pid.as_str(), "{api}");
    let report = &process["report"];
    assert!(report["caches"][0]["hits"] == "2" && report["caches"][0]["misses"] == "2", "{api}");
    assert_eq!(report["locks"][0]["fence"], guard.fence().to_string(), "{api}");
    assert_eq!(report["schedules"][0]["name"], "nightly", "{api}");

    let browser = Browser::start().await.unwrap();
    let shots = PAGES.map(|path| Shot::new(&path[1..], &format!("http://{}{path}", console.address)));
    fits(&browser, &shots).await.unwrap();
    running.abort();
}

/// Writes what a process would have reported a second ago.
pub(crate) async fn write_report(keel: &Keel, id: &str, report: &str) {
    let link = keel.link().unwrap();
    let times = format!("{}:{{p}}", link.prefix());
    let key = format!("{times}:{id}");
    link.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg(report)).await.unwrap();
    let now = link.server_now_ms() - 1_000;
    link.command(times.as_bytes(), redis::cmd("ZADD").arg(&times).arg(now).arg(id)).await.unwrap();
}

/// Whoever may write to Redis may write a report.
#[tokio::test]
async fn hostile_report_is_escaped_and_bounded() {
    let console = Console::start(false).await;
    let text = "<script>alert(1)</script>";
    let report = serde_json::json!({
        "host": text, "version": text, "started_ms": u64::MAX, "epoch": u64::MAX, "left_out": u64::MAX,
        "caches": [{ "cache": text, "hits": u64::MAX, "near_hits": u64::MAX, "misses": u64::MAX }, { "cache": text, "hits": u64::MAX }],
        "consumers": [{ "topic": text, "slots": u64::MAX, "used": u64::MAX }, { "topic": "../../x", "slots": u64::MAX }],
        "stream_consumers": [{ "stream": text, "group": text, "slots": u64::MAX }],
        "jobs": [{ "topic": text, "id": text, "since_ms": u64::MAX }, { "topic": "a", "id": "../../../x", "since_ms": 0 }],
        "locks": [{ "lock": text, "fence": u64::MAX, "since_ms": u64::MAX }],
        "schedules": [{ "topic": text, "schedule": text, "cron": text, "next_ms": u64::MAX }],
        "relays": [{ "database": text, "outbox": text, "passed_ms": u64::MAX }],
    });
    write_report(&console.keel, "red.7.x", &report.to_string()).await;
    write_report(&console.keel, "none.8.x", "no report").await;
    for path in PAGES {
        let page = console.get(path, "").await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        assert!(!page.text.contains(text) && page.text.contains("&lt;script&gt;"), "{path}: {}", page.text);
        assert!(page.text.contains("1 value under the keys of process reports"), "{path}: {}", page.text);
        let links = page.text.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        assert!(links.into_iter().all(|link| !link.contains("/../")), "{path}: {}", page.text);
    }
    let api = console.get(API, "").await;
    let found = serde_json::from_str::<Value>(&api.text).unwrap();
    assert_eq!(found["ignored"], "1", "{}", api.text);
    assert_eq!(found["processes"][0]["report"]["left_out"], u64::MAX.to_string(), "{}", api.text);
}
