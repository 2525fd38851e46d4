//! What a topic or a stream that cannot be read hides of the others: nothing.

use crate::console::server::Console;
use crate::program::evenkeel_async;
use evenkeel_protocol::queue::steps::Shard;
use serde_json::Value;
use testkit::eventually;

/// A console of a healthy topic with a dead letter, of one whose keys another program uses, and of a stream and a topic of a newer program.
async fn sick() -> Console {
    let console = Console::start(false).await;
    console.add_dead_many(1, "bad address").await;
    console.keel.queue::<Value>("push").open().await.unwrap();
    let link = console.keel.link().unwrap();
    let meta = format!("{}:meta", Shard::new(link.prefix(), "push", 0).tag());
    link.command(meta.as_bytes(), redis::cmd("DEL").arg(&meta)).await.unwrap();
    link.command(meta.as_bytes(), redis::cmd("SET").arg(&meta).arg("another program's")).await.unwrap();
    for (register, name) in [("q:topics", "future"), ("s:streams", "newer")] {
        let key = format!("{}:{register}", link.prefix());
        link.command(key.as_bytes(), redis::cmd("HSET").arg(&key).arg(name).arg("{}")).await.unwrap();
    }
    console
}

/// Command lines ended at the first such topic or stream: all others were unknown.
// shows: hazard SF17
#[tokio::test]
async fn sick_topic_or_stream_hides_no_other_from_commands() {
    let console = sick().await;
    let run = async |words: &[&str]| evenkeel_async(&[words, &["--redis", &console.url]].concat()).await;
    for (words, code, shown, missing) in [
        (
            &["queue", "ls"][..],
            2,
            "mail",
            "future: queue future: its entry in the register of topics cannot be decoded",
        ),
        (&["queue", "ls", "--json"], 2, "\"mail\"", "and 1 more"),
        (&["queue", "watch", "--once", "--dead", "0"], 2, "mail", "WRONGTYPE"),
        (&["stream", "ls"], 2, "orders", "newer: "),
        (&["stream", "lag"], 2, "", "newer: "),
        (&["alerts", "watch", "--once"], 1, "DeadLetters fires for mail", "push was not read: "),
        (&["alerts", "watch", "--once"], 1, "DeadLetters fires for mail", "newer was not read: "),
    ] {
        let ran = run(words).await;
        let is_as_expected = ran.code == code && ran.out.contains(shown) && ran.err.contains(missing);
        assert!(is_as_expected, "{words:?}: {} {}{}", ran.code, ran.out, ran.err);
    }
}

/// The overview showed "Redis did not answer", and figures that no longer changed.
// shows: hazard SF17
#[tokio::test]
async fn sick_topic_or_stream_hides_no_other_on_the_overview() {
    let console = sick().await;
    let page = async || {
        let page = console.get("/", "").await.text;
        page.contains("push: its figures could not be read").then_some(page)
    };
    let page = eventually("the figures are read", page).await.unwrap();
    for part in ["future: its figures", "newer: its figures", "mail: 1 dead letter", "/queues/mail", "/streams/orders"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("Redis did not answer"), "{page}");
}
