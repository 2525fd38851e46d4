//! `evenkeel queue` on a topic without rows, after Redis has lost all data.

use crate::program::{Ran, evenkeel_async};
use evenkeel::Keel;
use evenkeel::queue::Queue;
use serde_json::{Value, json};
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

/// Commands, and their exit codes and outputs once a program has opened the topic again.
const COMMANDS: [(&str, i32, &str); 17] = [
    ("stats mail", 0, "waiting                  0"),
    ("peek mail", 0, "no waiting jobs"),
    ("newest mail", 0, "no waiting jobs"),
    ("job mail a", 2, "no job a"),
    ("why mail a", 1, "never enqueued here"),
    ("revoke mail a", 1, "not revoked: no such job"),
    ("reschedule mail a --in 2d", 1, "not changed: no such job"),
    ("amend mail a 7", 2, "no job a"),
    ("run mail a", 1, "not changed: no such job"),
    ("dead ls mail", 0, "no dead letters"),
    ("dead redrive mail", 0, "0 redriven"),
    ("dead rm mail a --confirm mail", 1, "not a dead letter"),
    ("dead rm mail --all --confirm mail", 0, "0 dead letters deleted"),
    ("pause mail", 0, "paused until resumed"),
    ("resume mail", 0, "resumed"),
    ("add mail {} --id b --in 1h", 0, "created"),
    ("grow mail 4", 0, "4 shards (before: 1), 1 jobs moved"),
];

/// Until a program opens the topic again, every command says that none has, and writes nothing. Afterwards every command reports what was lost.
#[tokio::test]
async fn commands_after_a_flush_report_what_redis_has() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let url = redis.url();
    let run = async |command: &str| {
        let mut arguments = vec!["queue", "--redis", &url];
        arguments.extend(command.split(' '));
        evenkeel_async(&arguments).await
    };
    let keel = Keel::connect(&url).await.unwrap();
    let queue: Queue<Value> = keel.queue("mail").open().await.unwrap();
    queue.job(&json!(1)).id("a").delay(Duration::from_secs(3_600)).enqueue().await.unwrap();
    assert_eq!(run("pause mail").await.code, 0);
    drop((queue, keel));
    redis.command::<()>(&["FLUSHALL"]).await.unwrap();
    for (command, ..) in COMMANDS {
        let Ran { code, out, err } = run(command).await;
        assert_eq!((code, out.as_str()), (2, ""), "{command}: {err}");
        assert!(err.contains("no queue named mail") && err.trim_end().lines().count() == 1, "{command}: {err}");
        let keys: Vec<String> = redis.command(&["KEYS", "*:q:*"]).await.unwrap();
        assert_eq!(keys, Vec::<String>::new(), "after {command}");
    }
    let keel = Keel::connect(&url).await.unwrap();
    let queue: Queue<Value> = keel.queue("mail").open().await.unwrap();
    assert!(!queue.topic().stats().await.unwrap().is_paused(), "Redis has lost the pause, too");
    for (command, expected_code, expected) in COMMANDS {
        let Ran { code, out, err } = run(command).await;
        let text = format!("{out}{err}");
        assert!(code == expected_code && text.contains(expected), "{command}: {code}, {text}");
    }
}
