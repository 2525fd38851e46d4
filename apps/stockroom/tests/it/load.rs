//! `stockroom load` with few operations.

use serde_json::Value;
use std::process::{Command, Output};
use testkit::park::{mariadb_database, redis};

fn load(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stockroom")).arg("load").args(arguments).output().unwrap()
}

fn rows(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"))).collect()
}

/// No change was lost, and deliveries of one day were merged.
#[track_caller]
fn assert_sound(row: &Value) {
    assert_eq!(row["violations"], 0, "{row}");
    assert!(row["p99_ms"].as_f64() >= row["p50_ms"].as_f64() && row["p50_ms"].as_f64() > Some(0.0), "{row}");
    assert!(row["deliveries"].as_i64() > row["days"].as_i64(), "deliveries of one day are merged: {row}");
}

#[test]
fn no_strategy_breaks_the_rule_in_one_process() {
    let output = load(&["--operations", "300", "--in-flight", "60", "--products", "2", "--cap", "200", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let rows = rows(&output);
    let names: Vec<&str> = rows.iter().map(|row| row["strategy"].as_str().unwrap()).collect();
    for expected in
        ["optimistic", "pessimistic", "redis-lock", "striped", "redlock", "conditional-update", "segmented", "unfenced"]
    {
        assert!(names.contains(&expected), "{names:?}");
    }
    for row in rows.iter().filter(|row| row["strategy"] != "unfenced") {
        assert_sound(row);
        assert_eq!(row["failed"], 0, "{row}");
    }
}

/// Regression: workers were paused at random times, so that a pause rarely hit a held lock and `unfenced` often lost nothing.
#[tokio::test]
async fn only_unfenced_loses_changes_of_paused_workers() {
    let (redis, database) = (redis().await.unwrap(), mariadb_database().await.unwrap());
    let small = ["--operations", "400", "--in-flight", "40", "--workers", "2", "--cap", "200", "--json"];
    let on = ["--redis", &redis.url, "--database", &database.url];
    let strategies = ["--strategy", "redis-lock", "--strategy", "optimistic", "--strategy", "unfenced"];
    let output = load(&[&small[..], &on, &strategies].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let rows = rows(&output);
    assert_eq!(rows.len(), 3);
    for row in &rows {
        assert!(row["paused"].as_u64() > Some(0) && row["killed"].as_u64() > Some(0), "{row}");
    }
    let (demonstration, sound) = rows.split_last().unwrap();
    // The server closes connections of paused workers: their changes fail, which is not a lost update.
    sound.iter().for_each(assert_sound);
    assert!(demonstration["violations"].as_u64() > Some(0), "{demonstration}");
}

#[test]
fn invalid_load_flags_are_reported_in_one_line() {
    for (arguments, expected) in [
        (&["--redis", "redis://127.0.0.1:1"][..], "a load needs both --redis and --database"),
        (&["--strategy", "luck"], "unknown strategy \"luck\""),
        (&["--operations", "0"], "must be at least 1"),
        (&["--products", "0"], "must be at least 1"),
        (&["--workers", "0"], "must be at least 1"),
    ] {
        let output = load(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}
