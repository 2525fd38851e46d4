//! What the tests of the link share.

use anyhow::{Context, Result};
use evenkeel::clock::Clock;
use evenkeel::link::{Epoch, Link, LinkOptions, LinkState};
use redis::Cmd;
use std::sync::Arc;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};
use tokio::time::timeout;

/// Far above what any step takes; a test that hangs fails with a name instead.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server of the test's own.
pub(super) async fn server() -> Result<Redis> {
    Redis::start(RedisOptions::new()).await
}

/// A link with quick time-outs, so that tests of silence are short.
pub(super) async fn quick_link(redis: &Redis) -> Result<Link> {
    link(&format!("{}?response_timeout_ms=100&connect_timeout_ms=200&heartbeat_ms=100", redis.url())).await
}

/// A link opened by URL.
pub(super) async fn link(url: &str) -> Result<Link> {
    Ok(Link::connect(LinkOptions::from_url(url)?, Clock::system()).await?)
}

/// The first epoch above `number`.
pub(super) async fn epoch_after(link: &Link, number: u64) -> Result<Arc<Epoch>> {
    let mut state = link.state();
    let newer = |state: &LinkState| matches!(state, LinkState::Up { epoch } if *epoch > number);
    timeout(PATIENCE, state.wait_for(newer)).await.context("no new epoch")??;
    link.epoch().context("the epoch was gone again")
}

/// Waits until the link is down and returns why.
pub(super) async fn down(link: &Link) -> Result<String> {
    let mut state = link.state();
    let state = timeout(PATIENCE, state.wait_for(|state| !state.is_up())).await.context("the link stayed up")??;
    match &*state {
        LinkState::Down { reason } => Ok(reason.to_string()),
        other => anyhow::bail!("{other:?}"),
    }
}

/// A command from its words.
pub(super) fn cmd(words: &[&str]) -> Cmd {
    let mut cmd = Cmd::new();
    words.iter().for_each(|word| {
        cmd.arg(*word);
    });
    cmd
}
