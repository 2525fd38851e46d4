//! `stockroom load`, in small.

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

/// Nothing was lost, and each row of a day took several deliveries.
#[track_caller]
fn assert_sound(row: &Value) {
    assert_eq!(row["violations"], 0, "{row}");
    assert!(row["p99_ms"].as_f64() >= row["p50_ms"].as_f64() && row["p50_ms"].as_f64() > Some(0.0), "{row}");
    assert!(row["deliveries"].as_i64() > row["days"].as_i64(), "same-day arrivals are merged: {row}");
}

#[test]
fn in_one_process_no_strategy_breaks_the_rule() {
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

/// Workers used to be stopped at any moment: most of the time none of their locks was between reading and writing, and the
/// demonstration of what goes wrong without a fence often showed nothing.
#[tokio::test]
async fn workers_are_paused_and_killed_and_only_the_demonstration_loses_changes() {
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
    // A worker that was paused finds some of its connections ended by the server: those changes fail, and are not lost.
    sound.iter().for_each(assert_sound);
    assert!(demonstration["violations"].as_u64() > Some(0), "{demonstration}");
}

#[test]
fn what_a_load_needs_is_one_sentence() {
    for (arguments, why) in [
        (&["--redis", "redis://127.0.0.1:1"][..], "a load runs on a Redis and a database server"),
        (&["--strategy", "luck"], "there is no strategy \"luck\""),
        (&["--operations", "0"], "at least one operation"),
    ] {
        let output = load(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), told.lines().count()), (Some(2), 1), "{told}");
        assert!(told.contains(why), "{told}");
    }
}
