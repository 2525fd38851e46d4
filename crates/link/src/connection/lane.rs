//! One multiplexed connection: many tasks send commands; replies arrive in order.

use super::response_timeout::ResponseTimeout;
use super::wheel::Wheel;
use crate::epoch::health::{EndReason, Health};
use crate::error::LinkError;
use crate::metrics::Metrics;
use crate::push::pulse::Pulse;
use crate::support::guard::guard;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisResult, Value};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use tokio::task::AbortHandle;

/// One connection of an epoch. It has no queue: a command is either sent to the server or rejected.
pub(crate) struct Lane {
    /// Its index among the connections of its epoch.
    pub(crate) number: usize,
    pub(crate) connection: MultiplexedConnection,
    pub(crate) tasks: [AbortHandle; 2],
    pub(crate) wheel: Arc<Wheel>,
    pub(crate) health: Arc<Health>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) pulse: Arc<Pulse>,
    /// Whether Redis pushes changes of keys that were read on this connection.
    pub(crate) tracks: bool,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) in_flight_max: usize,
    /// Consecutive time-outs since the last reply.
    pub(crate) silent: AtomicU32,
    pub(crate) silent_max: u32,
}

impl Lane {
    /// Sends one command and waits for its reply, for the link's time-out unless there is another.
    pub(crate) async fn call(&self, cmd: &Cmd, response_timeout: Option<&ResponseTimeout>) -> Result<Value, LinkError> {
        let _reservation = self.reserve(1)?;
        // A clone shares the socket; sending requires a mutable handle.
        let mut connection = self.connection.clone();
        self.check_reply(self.answer(Box::pin(connection.send_packed_command(cmd)), response_timeout).await?)
    }

    /// Like [`call`](Self::call), but exempt from the limit of commands in flight: for heartbeats and probes.
    pub(crate) async fn probe(&self, cmd: &Cmd) -> Result<Value, LinkError> {
        let mut connection = self.connection.clone();
        self.check_reply(self.answer(Box::pin(connection.send_packed_command(cmd)), None).await?)
    }

    /// Like [`call`](Self::call), with several commands in one write. Returns one reply each; error replies are returned as values.
    pub(crate) async fn call_many(
        &self,
        pipeline: &Pipeline,
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<Vec<Value>, LinkError> {
        let count = pipeline.len();
        let _reservation = self.reserve(count)?;
        let mut connection = self.connection.clone();
        let answers =
            self.answer(Box::pin(connection.send_packed_commands(pipeline, 0, count)), response_timeout).await?;
        for answer in &answers {
            if let Value::ServerError(error) = answer {
                self.on_error_code(error.code());
            }
        }
        Ok(answers)
    }

    /// Consecutive time-outs since the last reply.
    pub(crate) fn silent_timeouts(&self) -> u32 {
        self.silent.load(Relaxed)
    }

    /// Commands that wait for a reply.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Relaxed)
    }

    /// Closes the connection, whose epoch is over; commands in flight get no reply.
    pub(crate) fn close(&self) {
        self.tasks.iter().for_each(AbortHandle::abort);
        // Neither task can end them any more. The client's channel can keep a command: it is emptied when the first task is dropped, but not
        // behind a sender that was preempted in the middle of its send.
        if guard("link_end_wakes") {
            self.wheel.end();
        }
    }

    fn reserve(&self, count: usize) -> Result<Reservation<'_>, LinkError> {
        let before = self.in_flight.fetch_add(count, Relaxed);
        let reservation = Reservation { in_flight: &self.in_flight, count };
        // A batch larger than the limit is admitted alone; otherwise it could never be sent.
        if before > 0 && before + count > self.in_flight_max {
            self.metrics.busy.increment(1);
            return Err(LinkError::Busy { limit: self.in_flight_max });
        }
        self.metrics.commands.increment(count as u64);
        Ok(reservation)
    }

    /// `request` is boxed, because the future would otherwise be part of, and be moved with, every caller's future.
    async fn answer<T>(
        &self,
        request: Pin<Box<impl Future<Output = RedisResult<T>>>>,
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<T, LinkError> {
        // One of the two wheels, so that a shorter time-out costs no more than the link's own.
        let wheel = response_timeout.map_or(&*self.wheel, ResponseTimeout::wheel);
        let expiry = wheel.register(|| self.health.is_over() && guard("link_over")).ok_or(LinkError::EpochOver)?;
        tokio::select! {
            biased;
            answer = request => self.answered(answer),
            () = expiry => Err(self.unanswered(response_timeout.is_some())),
        }
    }

    fn answered<T>(&self, answer: RedisResult<T>) -> Result<T, LinkError> {
        match answer {
            Ok(answer) => {
                // The load keeps the cache line shared; the counter is nearly always zero.
                if self.silent.load(Relaxed) != 0 {
                    self.silent.store(0, Relaxed);
                }
                Ok(answer)
            }
            Err(error) => {
                let error = LinkError::from_request(&error);
                if error.outcome_unknown() {
                    self.health.end(EndReason::Closed);
                }
                Err(error)
            }
        }
    }

    /// A time-out shorter than the link's own is no evidence of a silent server; callers with the link's time-out detect that.
    fn unanswered(&self, early: bool) -> LinkError {
        if self.health.is_over() {
            return LinkError::BROKEN;
        }
        self.metrics.timeouts.increment(1);
        if !early && self.silent.fetch_add(1, Relaxed) + 1 >= self.silent_max {
            self.request_probe();
        }
        LinkError::SILENT
    }

    /// Consecutive time-outs may also have one slow command as their cause, so a probe decides.
    fn request_probe(&self) {
        if guard("link_probe") {
            self.health.suspect();
        } else {
            self.health.end(EndReason::Silent);
        }
    }

    fn check_reply(&self, answer: Value) -> Result<Value, LinkError> {
        match answer {
            Value::ServerError(error) => {
                self.on_error_code(error.code());
                Err(error.into())
            }
            answer => Ok(answer),
        }
    }

    /// Handles error codes that concern the state of the server and not the command.
    fn on_error_code(&self, code: &str) {
        match code {
            "READONLY" if guard("link_readonly") => self.health.end(EndReason::ReadOnly),
            "LOADING" | "MASTERDOWN" => self.health.suspect(),
            _ => {}
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.close();
    }
}

/// A reservation of commands in flight, released on drop.
struct Reservation<'a> {
    in_flight: &'a AtomicUsize,
    count: usize,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(self.count, Relaxed);
    }
}
