//! `evenkeel top` on a pseudo-terminal, against a real Redis.

use crate::outbox::outbox;
use crate::program::{Ran, evenkeel_async};
use evenkeel::Keel;
use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use testkit::park;
use testkit::servers::{Redis, RedisOptions};

const BACK: &[u8] = b"\x1b[D";
const ESCAPE: &[u8] = b"\x1b";

/// A line of a shell on a terminal of 12 rows and 60 columns. `script` opens the terminal, and copies what is typed and printed.
struct Terminal {
    script: Child,
    keys: ChildStdin,
    out: ChildStdout,
    seen: Vec<u8>,
    /// What was expected last ends here.
    at: usize,
}

impl Terminal {
    /// Runs `evenkeel top` with these arguments, and then prints its exit code and the modes of the terminal.
    fn top(arguments: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_evenkeel");
        let top = format!("sh -c 'echo pid $$.; exec {program} top {arguments}'");
        let mut script = Command::new("script");
        script.args(["-qefc", &format!("stty rows 12 cols 60; {top}; echo code $?.; stty -a; echo end."), "/dev/null"]);
        let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (keys, out) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        Self { script, keys, out, seen: Vec::new(), at: 0 }
    }

    /// Reads until the terminal has printed this after what was expected before, and returns what it printed up to its end.
    fn expect(&mut self, text: &str) -> String {
        let mut part = [0; 4096];
        loop {
            let found = self.seen[self.at..].windows(text.len()).position(|bytes| bytes == text.as_bytes());
            if let Some(found) = found {
                let end = self.at + found + text.len();
                let printed = String::from_utf8_lossy(&self.seen[self.at..end]).into_owned();
                self.at = end;
                return printed;
            }
            let read = self.out.read(&mut part).unwrap();
            let unread = String::from_utf8_lossy(&self.seen[self.at..]);
            assert!(read > 0, "the terminal was closed before it printed {text:?}: {unread:?}");
            self.seen.extend_from_slice(&part[..read]);
        }
    }

    fn press(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).unwrap();
        self.keys.flush().unwrap();
    }

    fn pid(&mut self) -> rustix::process::Pid {
        self.expect("pid ");
        let pid = self.expect(".").trim_end_matches('.').parse().unwrap();
        rustix::process::Pid::from_raw(pid).unwrap()
    }

    /// The program ends without an error, and leaves the terminal as it was.
    fn expect_restored(mut self) {
        let last = self.expect("code ");
        assert!(last.contains("\x1b[?7h\x1b[?25h"), "lines wrap again, and the cursor is visible: {last:?}");
        assert_eq!(self.expect("."), "0.");
        let modes = self.expect("end.");
        for mode in ["icanon", "echo", "isig", "iexten"] {
            assert!(modes.split_whitespace().any(|word| word == mode), "{mode}: {modes}");
        }
        self.script.wait().unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // After a failed test.
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

/// The lines of the last whole screen, without the sequences of the program.
fn lines(printed: &str) -> Vec<String> {
    let screen = printed.rsplit("\x1b[H").find(|screen| screen.contains("\x1b[J")).unwrap();
    let text = screen.split("\x1b[J").next().unwrap().replace("\x1b[7m", "").replace("\x1b[0m", "");
    text.split("\x1b[K").map(|line| line.trim_start_matches(['\r', '\n']).to_owned()).collect()
}

/// A Redis with a topic, 30 held locks, and a lock with a hostile name.
async fn redis() -> (park::SharedRedis, Vec<evenkeel::lock::Guard>) {
    let redis = park::redis().await.unwrap();
    let keel = Keel::connect(&url(&redis)).await.unwrap();
    keel.queue::<Value>("mail").open().await.unwrap().job(&Value::Null).enqueue().await.unwrap();
    let mut held = vec![keel.lock("\u{1b}[2Jred\nrow").acquire().await.unwrap()];
    for number in 0..30 {
        held.push(
            keel.lock(&format!("stock/{number}/with-a-name-that-is-wider-than-the-terminal")).acquire().await.unwrap(),
        );
    }
    keel.report_once().await.unwrap();
    (redis, held)
}

fn url(redis: &park::SharedRedis) -> String {
    format!("{}?prefix={}", redis.url, redis.prefix)
}

async fn on_thread<T: Send + 'static>(part: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(part).await.unwrap()
}

async fn top(arguments: &[&str]) -> Ran {
    evenkeel_async(&[&["top"], arguments].concat()).await
}

// shows: hazard PO11
#[tokio::test]
async fn keys_switch_tabs_and_end_the_view() {
    let (redis, _held) = redis().await;
    let (database, _pool) = outbox().await;
    let arguments = format!("--redis {} --database {} --tab locks --every 100ms", url(&redis), database.url);
    on_thread(move || {
        let mut terminal = Terminal::top(&arguments);
        terminal.expect("\x1b[7m 4 locks \x1b[0m");
        terminal.expect("rows not shown");
        terminal.press(b"G");
        terminal.expect("of them above");
        terminal.press(b"/stock/29");
        terminal.expect("filter: stock/29_");
        terminal.expect("stock/29/with-a-name");
        // Escape ends the filter, not the view.
        terminal.press(ESCAPE);
        terminal.expect("rows not shown");
        terminal.press(b"2");
        terminal.expect("\x1b[7m 2 streams \x1b[0m");
        terminal.expect("no streams under this prefix");
        terminal.press(BACK);
        terminal.expect("\x1b[7m 1 topics \x1b[0m");
        terminal.expect("DONE/S");
        terminal.expect("mail");
        // Before the first tab is the last one.
        terminal.press(BACK);
        terminal.expect("\x1b[7m 6 outbox \x1b[0m");
        terminal.expect("units of work");
        terminal.press(b"53");
        terminal.expect("\x1b[7m 3 caches \x1b[0m");
        terminal.expect("no process has reported a cache");
        terminal.press(b"q");
        terminal.expect_restored();
    })
    .await;
}

#[tokio::test]
async fn every_way_to_end_restores_the_terminal() {
    let (redis, _held) = redis().await;
    let arguments = format!("--redis {} --every 100ms", url(&redis));
    on_thread(move || {
        for key in [b"\x03", ESCAPE] {
            let mut terminal = Terminal::top(&arguments);
            terminal.expect("mail");
            terminal.press(key);
            terminal.expect_restored();
        }
        for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT, rustix::process::Signal::HUP] {
            let mut terminal = Terminal::top(&arguments);
            let pid = terminal.pid();
            terminal.expect("mail");
            rustix::process::kill_process(pid, signal).unwrap();
            terminal.expect_restored();
        }
    })
    .await;
}

#[tokio::test]
async fn screen_is_cut_to_the_terminal_and_has_no_sequences_of_others() {
    let (redis, _held) = redis().await;
    let arguments = format!("--redis {} --tab locks --every 100ms", url(&redis));
    on_thread(move || {
        let mut terminal = Terminal::top(&arguments);
        let printed = terminal.expect("rows not shown") + &terminal.expect("\x1b[J");
        let lines = lines(&printed);
        assert!(lines.len() <= 12, "{lines:#?}");
        assert!(lines.iter().all(|line| line.chars().count() < 60), "{lines:#?}");
        assert_eq!(printed.matches("\x1b[2J").count(), 1, "only the program's own: {printed:?}");
        terminal.press(b"q");
        terminal.expect_restored();
    })
    .await;
}

/// At three in the morning, the view stays and says what is wrong, without the password.
#[tokio::test]
async fn redis_that_goes_away_is_reported_until_it_is_back() {
    let mut redis = Redis::start(RedisOptions::new().password("very-secret")).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    keel.queue::<Value>("mail").open().await.unwrap().job(&Value::Null).enqueue().await.unwrap();
    let arguments = format!("--redis {} --every 100ms", redis.url());
    let mut terminal = Terminal::top(&arguments);
    let mut terminal = on_thread(move || {
        terminal.expect("mail");
        terminal
    })
    .await;
    redis.pause().unwrap();
    let mut terminal = on_thread(move || {
        let printed = terminal.expect("; retrying");
        assert!(!printed.contains("very-secret"), "{printed:?}");
        terminal
    })
    .await;
    redis.resume().unwrap();
    on_thread(move || {
        terminal.expect("mail");
        terminal.press(b"q");
        terminal.expect_restored();
    })
    .await;
}

#[tokio::test]
async fn output_that_is_no_terminal_is_printed_once() {
    let (redis, _held) = redis().await;
    let (database, _pool) = outbox().await;
    let (redis, database) = (url(&redis), database.url.clone());
    for (tab, heading, entries) in [
        ("topics", "TOPIC", "mail"),
        ("streams", "no streams under this prefix", ""),
        ("caches", "no process has reported a cache", ""),
        ("locks", "LOCK", "stock/29"),
        ("processes", "HOST", "alive"),
        ("outbox", "ENTRIES", "units of work"),
    ] {
        let arguments = ["--redis", &redis, "--database", &database, "--tab", tab];
        let printed = top(&arguments).await;
        assert_eq!(printed.code, 0, "{tab}: {}", printed.err);
        assert!(printed.out.starts_with(heading) && printed.out.contains(entries), "{tab}: {}", printed.out);
        assert!(!printed.out.contains('\x1b'), "{tab}: {:?}", printed.out);
        let json = top(&[&arguments[..], &["--json"]].concat()).await;
        serde_json::from_str::<Value>(&json.out).unwrap_or_else(|_| unreachable!("{tab}: {}{}", json.out, json.err));
    }
}

#[tokio::test]
async fn missing_addresses_are_one_sentence() {
    let without_database = top(&["--redis", "redis://127.0.0.1:1", "--tab", "outbox"]).await;
    assert_ne!(without_database.code, 0);
    assert!(without_database.err.contains("--database") && without_database.err.lines().count() == 1);
    let unknown = top(&["--redis", "redis://127.0.0.1:1", "--tab", "lock"]).await;
    assert!(unknown.code == 2 && unknown.err.contains("locks"), "{}", unknown.err);
}
