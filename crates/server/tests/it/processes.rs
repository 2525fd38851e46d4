//! `evenkeel ps` against a real Redis.

use crate::program::{Ran, evenkeel_async};
use evenkeel::Keel;
use serde_json::Value;
use testkit::park;

async fn ps(url: &str, arguments: &[&str]) -> Ran {
    evenkeel_async(&[&["ps", "--redis", url], arguments].concat()).await
}

#[tokio::test]
async fn processes_are_listed_with_what_they_run() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let empty = ps(&url, &[]).await;
    assert!(empty.code == 0 && empty.out.starts_with("no process has reported"), "{}{}", empty.out, empty.err);

    let keel = Keel::connect(&url).await.unwrap();
    let guard = keel.lock("stock/42").acquire().await.unwrap();
    keel.report_once().await.unwrap();
    let listed = ps(&url, &[]).await;
    let (heading, row) = listed.out.split_once('\n').unwrap();
    assert!(heading.starts_with("HOST") && row.contains("alive"), "{}", listed.out);
    assert!(row.contains(&std::process::id().to_string()), "{}", listed.out);
    let listed: Value = serde_json::from_str(&ps(&url, &["--json"]).await.out).unwrap();
    let process = &listed["processes"][0];
    assert_eq!((&process["alive"], &listed["further"], &listed["ignored"]), (&true.into(), &0.into(), &0.into()));
    assert_eq!(process["report"]["locks"][0]["lock"], "stock/42");
    assert_eq!(process["report"]["locks"][0]["fence"], guard.fence().0);
    assert_eq!(listed["processes"].as_array().unwrap().len(), 1, "the command itself does not report");
}

/// A report that another program has written, with text that would change the terminal.
#[tokio::test]
async fn hostile_report_is_printed_as_plain_text() {
    let redis = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let keel = Keel::connect(&url).await.unwrap();
    let times = format!("{}:{{p}}", redis.prefix);
    let link = keel.link().unwrap();
    let report = r#"{"host": "\u001b[31mred\nrow", "pid": 7, "version": "\u0007", "started_ms": 18446744073709551615}"#;
    for (id, report) in [("red.7.x", report), ("none.8.x", "[]")] {
        let key = format!("{times}:{id}");
        link.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg(report)).await.unwrap();
        let now = link.server_now_ms() - 1_000;
        link.command(times.as_bytes(), redis::cmd("ZADD").arg(&times).arg(now).arg(id)).await.unwrap();
    }
    let listed = ps(&url, &[]).await;
    assert!(listed.code == 0 && !listed.out.contains(['\u{1b}', '\u{7}']), "{:?}", listed.out);
    assert!(listed.out.contains(" [31mred row") && listed.out.contains("1 value under the keys"), "{}", listed.out);
}
