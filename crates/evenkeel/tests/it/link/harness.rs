//! What the tests of the link share.

use anyhow::{Context, Result};
use evenkeel::clock::Clock;
use evenkeel::link::{Epoch, Link, LinkError, LinkOptions, LinkState};
use redis::Cmd;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;
use testkit::eventually;
use testkit::servers::{Redis, RedisOptions};
use tokio::time::timeout;

/// Far above what any step takes; a test that hangs fails with a name instead.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A server of the test's own.
pub(super) async fn server() -> Result<Redis> {
    Redis::start(RedisOptions::new()).await
}

/// A link with quick timeouts, so that tests of silence are short.
pub(super) async fn quick_link(redis: &Redis) -> Result<Link> {
    link(&format!("{}?response_timeout_ms=200&connect_timeout_ms=300&heartbeat_ms=100", redis.url())).await
}

/// A link that finds out nothing by its heartbeat, only by what callers see.
pub(super) async fn link_without_heartbeat(redis: &Redis) -> Result<Link> {
    link(&format!("{}?heartbeat_ms=600000", redis.url())).await
}

/// A link opened by URL.
pub(super) async fn link(url: &str) -> Result<Link> {
    Ok(Link::connect(LinkOptions::from_url(url)?, Clock::system()).await?)
}

/// Why no link can be opened by this URL.
pub(super) async fn refusal(url: &str) -> LinkError {
    match LinkOptions::from_url(url) {
        Ok(options) => Link::connect(options, Clock::system()).await.err().expect("the link was opened"),
        Err(error) => error,
    }
}

/// The first epoch above `number`.
pub(super) async fn epoch_after(link: &Link, number: u64) -> Result<Arc<Epoch>> {
    let mut state = link.state();
    let newer = |state: &LinkState| matches!(state, LinkState::Up { epoch } if *epoch > number);
    timeout(TIMEOUT, state.wait_for(newer)).await.context("no new epoch")??;
    link.epoch().context("the epoch was gone again")
}

/// Waits until the link is down for a reason that contains `words`.
pub(super) async fn down(link: &Link, words: &str) -> Result<()> {
    let mut state = link.state();
    let reported = |state: &LinkState| matches!(state, LinkState::Down { reason } if reason.contains(words));
    let seen = timeout(TIMEOUT, state.wait_for(reported)).await.map(|seen| seen.map(|_| ()));
    seen.with_context(|| format!("not down with `{words}`: {:?}", *link.state().borrow()))??;
    Ok(())
}

/// Makes the server close the link's connections.
pub(super) async fn cut(redis: &Redis) -> Result<()> {
    redis.command::<i64>(&["CLIENT", "KILL", "TYPE", "normal"]).await?;
    Ok(())
}

/// Waits until the server has no client but the one that asks.
pub(super) async fn no_clients(redis: &Redis) -> Result<()> {
    eventually("all connections are closed", async || {
        let clients: String = redis.command(&["CLIENT", "LIST"]).await.ok()?;
        (clients.lines().filter(|line| !line.contains("cmd=client")).count() == 0).then_some(())
    })
    .await
}

/// Lets a future take its first step, in which a call to the link sends its command. (The reply arrives later: the tests'
/// runtime has one thread, which this does not yield.)
pub(super) fn begin<F: Future>(future: Pin<&mut F>) -> bool {
    future.poll(&mut std::task::Context::from_waker(Waker::noop())).is_ready()
}

/// Builds a command from its arguments.
pub(super) fn cmd(words: &[&str]) -> Cmd {
    let mut cmd = Cmd::new();
    words.iter().for_each(|word| {
        cmd.arg(*word);
    });
    cmd
}
