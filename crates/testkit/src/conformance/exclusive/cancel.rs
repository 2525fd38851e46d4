//! Futures that are dropped at their k-th poll, for every k: nothing is left beyond a lease.

use super::fleet::{Fleet, LONG, is_free, take, terms, until};
use anyhow::Result;
use evenkeel::lock::Wait;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;

/// Polls `future` whenever it was woken, at most `polls` times; `None` if it was not ready by then. It is dropped then.
async fn polled<F: Future>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            // After the last poll it is dropped at once: whatever it has sent is still on its way.
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// (L6) `timeout(lock.acquire())`, dropped after the command had reached the server, left the lock behind until its ttl.
// shows: K5, KR1, KA1, hazard L6, lock::LockBuilder::acquire, lock::ExclusiveLocks::acquire
pub async fn dropped_acquire_leaves_nothing(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.running().await?, fleet.running().await?);
    let terms = terms(LONG);
    for polls in 0.. {
        let acquired = polled(one.acquire(name, &terms), polls).await;
        let was_done = acquired.is_some();
        drop(acquired);
        until(async || is_free(&*two, name).await).await?;
        if was_done {
            break;
        }
    }
    Ok(())
}

/// The same while another holder has it. On a running clock an acquisition polls as often as it likes, so the polls are few.
// shows: K5, KA1, lock::LockBuilder::acquire, lock::ExclusiveLocks::acquire
pub async fn dropped_waiting_acquire_leaves_nothing(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.running().await?, fleet.running().await?);
    let terms = terms(LONG).wait(Wait::Forever);
    for polls in 1..8 {
        let guard = take(&*two, name, LONG).await?;
        let waited = polled(one.acquire(name, &terms), polls);
        let release = async {
            tokio::task::yield_now().await;
            guard.release().await
        };
        let (waited, released) = tokio::join!(waited, release);
        released?;
        drop(waited);
        until(async || is_free(&*two, name).await).await?;
    }
    Ok(())
}

/// The library completes a dropped release.
// shows: K5, KR1, lock::ExclusiveLocks, lock::Guard::release, lock::ExclusiveGuard::release, lock::Permits::release
// shows: lock::AdvisoryGuard::release
pub async fn dropped_release_completes(fleet: &impl Fleet, name: &str) -> Result<()> {
    let (one, two) = (fleet.running().await?, fleet.running().await?);
    for polls in 0.. {
        let guard = take(&*one, name, LONG).await?;
        let released = polled(guard.release(), polls).await;
        until(async || is_free(&*two, name).await).await?;
        if released.is_some() {
            break;
        }
    }
    Ok(())
}
