//! Tests that a call ends with its epoch, also if the client's channel keeps its command.
//!
//! The channel's receiver, when it is dropped, answers all commands before a slot that a preempted sender has claimed and not yet filled.
//! Those behind it stay in the channel until all senders are gone, and each caller is a sender. Here nothing reads the channel.

use super::lane::Lane;
use super::response_timeout::ResponseTimeouts;
use super::wheel::Wheel;
use crate::clock::Clock;
use crate::epoch::health::{EndReason, Health};
use crate::error::LinkError;
use crate::metrics::Metrics;
use crate::push::pulse::Pulse;
use futures_util::FutureExt;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisConnectionInfo};
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::Duration;

/// A lane, and the task of its socket, which must be kept and is not run.
async fn lane() -> (Lane, Pin<Box<dyn Future<Output = ()>>>) {
    let (socket, _) = tokio::io::duplex(64);
    let login = RedisConnectionInfo::default().set_skip_set_lib_name();
    let made =
        MultiplexedConnection::new_with_config(&login, socket, AsyncConnectionConfig::new().set_response_timeout(None))
            .await;
    let (connection, driver) = made.unwrap_or_else(|error| unreachable!("{error}"));
    let task = || crate::support::spawn(pending::<()>()).abort_handle();
    let lane = Lane {
        number: 0,
        connection,
        tasks: [task(), task()],
        wheel: Arc::new(Wheel::default()),
        health: Arc::new(Health::default()),
        metrics: Arc::new(Metrics::register()),
        pulse: Arc::new(Pulse::new(Clock::system(), 1)),
        tracks: false,
        in_flight: AtomicUsize::new(0),
        in_flight_max: 10,
        silent: AtomicU32::new(0),
        silent_max: 3,
    };
    (lane, Box::pin(driver))
}

fn end(lane: &Lane) {
    lane.health.end(EndReason::Closed);
    lane.close();
}

/// 63 of 64 callers were without an answer, an error or a time-out for as long as the process ran.
// shows: L11, hazard BL1
#[tokio::test]
async fn command_kept_by_the_channel_ends_with_its_epoch() {
    let (lane, _driver) = lane().await;
    let get = redis::cmd("GET");
    let mut pipeline = redis::Pipeline::new();
    pipeline.cmd("GET");
    let mut calls = (pin!(lane.call(&get, None)), pin!(lane.call_many(&pipeline, None)), pin!(lane.probe(&get)));
    assert!(calls.0.as_mut().now_or_never().is_none() && calls.1.as_mut().now_or_never().is_none());
    assert!(calls.2.as_mut().now_or_never().is_none() && lane.in_flight() == 2);
    end(&lane);
    let ended = [
        calls.0.now_or_never(),
        calls.1.now_or_never().map(|answer| answer.map(|_| redis::Value::Nil)),
        calls.2.now_or_never(),
    ];
    for ended in ended {
        assert!(matches!(&ended, Some(Err(error)) if error.is_broken()), "{ended:?}");
    }
    assert!(lane.in_flight() == 0 && lane.silent_timeouts() == 0);
    assert!(matches!(lane.call(&get, None).now_or_never(), Some(Err(LinkError::EpochOver))));
}

/// The task behind a shorter time-out ends with its runtime, which the callers need not share.
// shows: L11, hazard BL1
#[tokio::test]
async fn command_with_a_shorter_timeout_ends_with_its_epoch() {
    let (lane, _driver) = lane().await;
    let (clock, runtime) = (Clock::system(), tokio::runtime::Handle::current());
    let all = ResponseTimeouts::default();
    let timeout = all.get(Duration::from_secs(600), &clock, &runtime);
    assert!(Arc::ptr_eq(&timeout, &all.get(Duration::from_secs(600), &clock, &runtime)));
    let get = redis::cmd("GET");
    let mut call = pin!(lane.call(&get, Some(&timeout)));
    assert!(call.as_mut().now_or_never().is_none());
    end(&lane);
    all.end();
    let ended = call.now_or_never();
    assert!(matches!(&ended, Some(Err(error)) if error.is_broken()), "{ended:?}");
}
