//! Tests without a server: help, invalid input, files.

use crate::program::{evenkeel, normal};
use std::path::Path;
use std::process::Command;

// shows: hazard T21
#[test]
fn help_matches_snapshots() {
    insta::assert_snapshot!("help", evenkeel(&["--help"]).out);
    insta::assert_snapshot!("help_alerts", evenkeel(&["alerts", "watch", "--help"]).out);
    insta::assert_snapshot!("help_cache", evenkeel(&["cache", "--help"]).out);
    insta::assert_snapshot!("help_cache_invalidate", evenkeel(&["cache", "invalidate", "--help"]).out);
    insta::assert_snapshot!("help_doctor", evenkeel(&["doctor", "--help"]).out);
    insta::assert_snapshot!("help_inbox", evenkeel(&["inbox", "--help"]).out);
    insta::assert_snapshot!("help_lock", evenkeel(&["lock", "--help"]).out);
    insta::assert_snapshot!("help_outbox", evenkeel(&["outbox", "--help"]).out);
    insta::assert_snapshot!("help_queue", evenkeel(&["queue", "--help"]).out);
    insta::assert_snapshot!("help_stream", evenkeel(&["stream", "--help"]).out);
}

/// docs/alerts/ is what the program prints. `UPDATE_ALERTS=1` writes the files anew.
#[test]
fn alert_files_are_generated_from_the_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/alerts");
    for (command, file) in [("prometheus", "evenkeel.rules.yml"), ("grafana", "dashboard.json"), ("page", "README.md")]
    {
        let ran = evenkeel(&["alerts", command]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""));
        let file = folder.join(file);
        if std::env::var_os("UPDATE_ALERTS").is_some() {
            std::fs::write(&file, &ran.out).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap();
        assert!(
            kept == ran.out,
            "{} is not what `evenkeel alerts {command}` prints; run this test with UPDATE_ALERTS=1",
            file.display()
        );
    }
}

/// promtool comes with Prometheus; without it, the syntax is not checked.
#[test]
fn promtool_accepts_the_rules_file() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/alerts/evenkeel.rules.yml");
    match Command::new("promtool").args(["check", "rules"]).arg(&file).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
        Err(_) => eprintln!("NOT CHECKED: promtool is not installed (apt-get install prometheus)"),
    }
}

#[test]
fn completions_and_manual_pages_cover_every_command() {
    let help = evenkeel(&["--help"]).out;
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands: Vec<&str> = commands.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(commands.contains(&"queue") && commands.contains(&"completions"), "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = evenkeel(&["completions", shell]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        for command in &commands {
            assert!(ran.out.contains(command), "{shell}: {command}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("evenkeel.bash");
    std::fs::write(&script, evenkeel(&["completions", "bash"]).out).unwrap();
    assert!(Command::new("bash").arg("-n").arg(&script).status().unwrap().success());
    assert_eq!(evenkeel(&["completions", "basic"]).code, 2);

    let page = evenkeel(&["man"]);
    assert!(page.code == 0 && page.out.contains(".TH evenkeel 1"), "{}{}", page.out, page.err);
    assert_eq!(evenkeel(&["man", folder.path().to_str().unwrap()]).code, 0);
    for command in commands {
        let page = std::fs::read_to_string(folder.path().join(format!("evenkeel-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}: {page}");
    }
    let missing = evenkeel(&["man", "no-such-folder/man"]);
    assert_eq!((missing.code, missing.err.lines().count()), (2, 1), "{}", missing.err);
}

#[test]
fn version_is_the_package_version() {
    let ran = evenkeel(&["--version"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, concat!("evenkeel ", env!("CARGO_PKG_VERSION"), "\n")));
}

#[test]
fn invalid_input_is_one_line_and_exit_code_2() {
    let ran = evenkeel(&["doctor", "http://user:hidden@example.org/"]);
    let error = "argument 1 is not a supported address: use redis://, rediss://, mysql://, postgres:// or sqlite:\n";
    assert_eq!((ran.code, ran.err.as_str(), ran.out.as_str()), (2, error, ""));
    assert_eq!(evenkeel(&["doctor"]).code, 2);
    assert_eq!(evenkeel(&["doctor", "redis://localhost:99999999"]).code, 2);
}

/// "Use a time with its offset" for one with its offset, and "unexpected argument" for a negative number.
// shows: hazard T25
#[test]
fn time_before_1970_is_refused_by_every_command_that_takes_one() {
    for (command, option) in [
        (&["add", "mail", "1"][..], "--at"),
        (&["reschedule", "mail", "01a22426b2420000a2929bee3fa05609"], "--at"),
        (&["dead", "redrive", "mail"], "--from"),
        (&["dead", "redrive", "mail"], "--until"),
    ] {
        for time in ["1969-07-20T20:17:40Z", "-5"] {
            let ran = evenkeel(&[&["queue", "--redis", "redis://127.0.0.1:1"], command, &[option, time]].concat());
            assert_eq!((ran.code, ran.err.contains("the time is before 1970")), (2, true), "{command:?}: {}", ran.err);
        }
    }
    let ran = evenkeel(&["queue", "--redis", "redis://127.0.0.1:1", "add", "mail", "1", "--in", "-5s"]);
    assert_eq!((ran.code, ran.err.contains("use a number and a unit")), (2, true), "{}", ran.err);
}

#[test]
fn unreachable_server_is_exit_code_2_without_password() {
    // Port 1 is reserved; no server listens there.
    let urls = ["redis://u:hidden@127.0.0.1:1", "mysql://u:hidden@127.0.0.1:1/d", "postgres://u:hidden@127.0.0.1:1/d"];
    for url in urls {
        let ran = evenkeel(&["doctor", url]);
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.out.contains("FAIL  connect"), "{}", ran.out);
        assert!(!ran.out.contains("hidden") && !ran.err.contains("hidden"), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn missing_and_empty_sqlite_files_pass() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("links.db");
    let url = format!("sqlite:{}", file.display());
    let ran = evenkeel(&["doctor", &url]);
    assert_eq!(ran.code, 0);
    assert!(!file.exists(), "doctor creates no files");
    insta::assert_snapshot!("sqlite_absent", ran.out.replace(&url, "sqlite:FILE"));

    std::fs::File::create(&file).unwrap();
    let ran = evenkeel(&["doctor", &url]);
    assert_eq!(ran.code, 0);
    insta::assert_snapshot!("sqlite_empty", normal(&ran.out));
}

/// "Created on first use" for an address without a file, "allow this user" for a folder and for an address that asks for no right to write, and
/// nothing of a second name.
// shows: hazard T23
#[test]
fn sqlite_address_that_no_service_can_use_names_its_cause() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::File::create(path("one.db")).unwrap();
    std::fs::File::create(path("first.db")).unwrap();
    std::fs::hard_link(path("first.db"), path("second.db")).unwrap();
    std::fs::write(path("text.db"), "this is no database ".repeat(100)).unwrap();
    let url = |name: &str| format!("sqlite:{}/{name}", folder.path().display());
    for (url, code, line) in [
        ("sqlite:".to_owned(), 2, "FAIL  connect       the address names no file → use sqlite:FILE"),
        (url(""), 2, "FAIL  connect       it is a folder → name a file in it"),
        (url("one.db?mode=ro"), 1, "FAIL  permissions   the address opens the file read-only → remove `mode`"),
        (url("second.db"), 1, "FAIL  file          it has 2 names (hard links) → remove the other hard links"),
        (url("text.db"), 1, "file is not a database → restore the file from a backup"),
    ] {
        let ran = evenkeel(&["doctor", &url]);
        assert!(ran.code == code && ran.out.contains(line), "{url}: {} {}", ran.code, ran.out);
    }
}

#[test]
fn missing_folder_fails() {
    let ran = evenkeel(&["doctor", "sqlite:no-such-folder/links.db"]);
    assert_eq!(ran.code, 2);
    insta::assert_snapshot!("sqlite_no_folder", ran.out);
}
