//! `evenkeel demo` in a real browser.

use super::server::announced;
use testkit::browser::Browser;
use testkit::process::Launch;

/// The store is the memory of the program, so this needs no server.
// shows: hazard CL12, hazard CL16
#[tokio::test]
async fn demo_in_memory_shows_moving_figures_and_three_errors() {
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch::new(env!("CARGO_BIN_EXE_evenkeel"), folder.path().join("log")).piped();
    let mut child = launch.arguments(["demo", "--listen", "127.0.0.1:0"]).start().unwrap();
    let address = announced(&mut child);
    let browser = Browser::start().await.unwrap();
    browser.goto(&format!("http://{address}/")).await.unwrap();
    browser.wait_for_text("[data-live='dead order-mail']", "3").await.unwrap();
    browser.wait_for_text("[data-live='state newsletter']", "paused").await.unwrap();
    browser.goto(&format!("http://{address}/queues/order-mail/dead")).await.unwrap();
    for error in ["smtp refused", "did not answer", "has no field"] {
        browser.wait_for_text("section.card", error).await.unwrap();
    }
    browser.goto(&format!("http://{address}/")).await.unwrap();
    browser.wait_for_text(".troubles", "Outbox: 2 parked").await.unwrap();
    browser.goto(&format!("http://{address}/outbox")).await.unwrap();
    browser.wait_for_text("section.card:nth-of-type(2)", "the price: it has a comma").await.unwrap();
    browser.click("form[action='/outbox/resend'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "Released").await.unwrap();
    browser.click("form[action='/inbox/resend'] button").await.unwrap();
    browser.wait_for_text(".notice.good", "processed at its next delivery").await.unwrap();
    browser.goto(&format!("http://{address}/locks?scan=1")).await.unwrap();
    browser.wait_for_text("table", "pricing/leader").await.unwrap();
    browser.goto(&format!("http://{address}/streams")).await.unwrap();
    browser.wait_for_text("tbody", "a group is paused").await.unwrap();
    browser.click("tbody a").await.unwrap();
    browser.wait_for_text("section[aria-label='Group analytics']", "paused").await.unwrap();
    browser.goto(&format!("http://{address}/streams/order-events/groups/billing/dead")).await.unwrap();
    browser.wait_for_text("main", "Dead letters of billing").await.unwrap();
    // By keyboard: queues, then the first row.
    browser.type_text("h1 ~ form button", "gq").await.unwrap();
    browser.wait_for_text("h1", "Overview").await.unwrap();
    // The charts have a point every 2 s.
    while {
        browser.goto(&format!("http://{address}/queues/order-mail")).await.unwrap();
        browser.texts(".chart figcaption").await.unwrap().iter().any(|chart| chart.contains("no value yet"))
    } {}
    assert_eq!(browser.console().await.unwrap(), Vec::<String>::new());
    // Regression: consumers and the failures of the shop were logged over the first screen. What the visitor did is in the audit log.
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let others: Vec<&str> = log.lines().filter(|line| !line.starts_with('{')).collect();
    assert!(others.len() == 1 && others[0].starts_with("A made-up shop is at work."), "{log}");
}

/// A new operator tries the commands on the shop. In memory they cannot reach it.
// shows: hazard CL16
#[tokio::test]
async fn demo_on_a_redis_is_reached_by_the_commands() {
    let redis = testkit::park::redis().await.unwrap();
    let url = format!("{}?prefix={}", redis.url, redis.prefix);
    let folder = tempfile::tempdir().unwrap();
    let launch = Launch::new(env!("CARGO_BIN_EXE_evenkeel"), folder.path().join("log")).piped();
    let launch = launch.arguments(["demo", "--verbose", "--listen", "127.0.0.1:0", "--redis", &url]);
    let mut child = launch.start().unwrap();
    announced(&mut child);
    let listed = crate::program::evenkeel_async(&["queue", "--redis", &url, "ls"]).await;
    assert!(listed.out.contains("newsletter") && listed.out.contains("paused"), "{}{}", listed.out, listed.err);
    let logs = || async {
        let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
        (log.contains("its keys stay on the Redis") && log.contains("consuming")).then_some(())
    };
    testkit::eventually("the consumers are logged", logs).await.unwrap();
    let bare = crate::program::evenkeel_async(&["demo", "--redis", &redis.url]).await;
    assert_eq!((bare.code, bare.err.contains("add ?prefix=demo")), (2, true), "{}", bare.err);
}

/// Nothing of the demo may be reached from other machines.
#[test]
fn demo_refuses_addresses_beyond_loopback() {
    let ran = crate::program::evenkeel(&["demo", "--listen", "0.0.0.0:0"]);
    assert_eq!((ran.code, ran.err.contains("not a loopback address")), (2, true), "{}", ran.err);
}
