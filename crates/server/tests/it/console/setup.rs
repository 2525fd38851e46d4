//! `/setup`: the checks of the servers, and the prefixes.

use super::server::{Console, announced};
use testkit::process::Launch;

#[tokio::test]
async fn setup_checks_the_servers_and_finds_prefixes() {
    let console = Console::start(false).await;
    let (cookie, csrf) = console.visit("/setup", "").await;
    let checked = console.send("POST", "/setup/check", &console.form(&cookie), &format!("csrf={csrf}")).await;
    assert_eq!(checked.status, 200, "{}", checked.text);
    for part in ["version", "scripts", "✓ ok", "loaded and ran a script"] {
        assert!(checked.text.contains(part), "{part}: {}", checked.text);
    }
    let prefix = console.keel.link().unwrap().prefix().to_owned();
    let found = console.get("/setup?scan=1", "").await.text;
    let own = format!("<code>{prefix}</code> (shown by this console)");
    assert!(found.contains(&own), "{prefix}: {found}");
}

#[tokio::test]
async fn failed_check_shows_the_remedy_and_no_password() {
    // Port 1 is reserved; no server listens there.
    let console = Console::unreachable("redis://user:sesame@127.0.0.1:1").await;
    let (cookie, csrf) = console.visit("/setup", "").await;
    let checked = console.send("POST", "/setup/check", &console.form(&cookie), &format!("csrf={csrf}")).await;
    assert!(checked.text.contains("✕ failed") && checked.text.contains("start the server"), "{}", checked.text);
    assert!(checked.text.contains("redis://user@127.0.0.1:1") && !checked.text.contains("sesame"), "{}", checked.text);
    let found = console.get("/setup?scan=1", "").await;
    assert_eq!((found.status, found.text.contains("sesame")), (503, false), "{}", found.text);
}

#[test]
fn configuration_file_starts_a_console() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("console.toml");
    let serve = || {
        let launch = Launch::new(env!("CARGO_BIN_EXE_evenkeel"), folder.path().join("log")).piped();
        launch.arguments(["serve", "--config"]).argument(&file)
    };
    std::fs::write(&file, "redis = 'redis://127.0.0.1:1'\nlisten = '127.0.0.1:0'\n").unwrap();
    let mut child = serve().start().unwrap();
    assert!(announced(&mut child).starts_with("127.0.0.1:"));
    let log = child.log_tail();
    assert!(log.contains("Redis is not reachable") && log.contains("127.0.0.1:1"), "{log}");
    for (text, reason) in [
        ("redis = 'redis://127.0.0.1:1'\nport = 1\n", "console.toml, line 2: unknown field `port`"),
        ("listen = '127.0.0.1:0'\n", "no Redis given"),
        ("redis = 'redis://127.0.0.1:1'\nlisten = '127.0.0.1:0'\npublic_url = 'https://ops.example'\n", "--tokens"),
    ] {
        std::fs::write(&file, text).unwrap();
        let ran = crate::program::evenkeel(&["serve", "--config", file.to_str().unwrap()]);
        assert_eq!((ran.code, ran.err.contains(reason), ran.err.lines().count()), (2, true, 1), "{}", ran.err);
    }
}
