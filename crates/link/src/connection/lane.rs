//! One multiplexed connection: commands of many tasks in, answers in order out.

use super::patience::Patience;
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

/// One connection of an epoch. Nothing here is queued: a command is either on its way to the server or refused.
pub(crate) struct Lane {
    /// Its place among the connections of its epoch.
    pub(crate) number: usize,
    pub(crate) connection: MultiplexedConnection,
    pub(crate) tasks: [AbortHandle; 2],
    pub(crate) wheel: Arc<Wheel>,
    pub(crate) health: Arc<Health>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) pulse: Arc<Pulse>,
    /// Whether Redis pushes changes of keys that were read on it.
    pub(crate) tracks: bool,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) in_flight_max: usize,
    /// Time-outs since the last answer.
    pub(crate) silent: AtomicU32,
    pub(crate) silent_max: u32,
}

impl Lane {
    /// Sends one command and waits for its answer.
    pub(crate) async fn call(&self, cmd: &Cmd) -> Result<Value, LinkError> {
        self.call_within(cmd, None).await
    }

    /// The same, for no longer than `patience` lasts.
    pub(crate) async fn call_within(&self, cmd: &Cmd, patience: Option<&Patience>) -> Result<Value, LinkError> {
        let _place = self.enter(1)?;
        // A clone shares the socket; sending needs a handle of its own.
        let mut connection = self.connection.clone();
        self.judge(self.answer(Box::pin(connection.send_packed_command(cmd)), patience).await?)
    }

    /// Like [`call`](Self::call), but never refused for being one too many: heartbeats and probes.
    pub(crate) async fn probe(&self, cmd: &Cmd) -> Result<Value, LinkError> {
        let mut connection = self.connection.clone();
        self.judge(self.answer(Box::pin(connection.send_packed_command(cmd)), None).await?)
    }

    /// Sends several commands in one write; one answer each, refusals among them.
    pub(crate) async fn call_many(&self, pipeline: &Pipeline) -> Result<Vec<Value>, LinkError> {
        self.call_many_within(pipeline, None).await
    }

    /// The same, for no longer than `patience` lasts.
    pub(crate) async fn call_many_within(
        &self,
        pipeline: &Pipeline,
        patience: Option<&Patience>,
    ) -> Result<Vec<Value>, LinkError> {
        let count = pipeline.len();
        let _places = self.enter(count)?;
        let mut connection = self.connection.clone();
        let answers = self.answer(Box::pin(connection.send_packed_commands(pipeline, 0, count)), patience).await?;
        for answer in &answers {
            if let Value::ServerError(error) = answer {
                self.heed(error.code());
            }
        }
        Ok(answers)
    }

    /// Time-outs since the last answer.
    pub(crate) fn silent_timeouts(&self) -> u32 {
        self.silent.load(Relaxed)
    }

    /// Commands that wait for an answer.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Relaxed)
    }

    /// Ends the connection: what is on its way gets no answer.
    pub(crate) fn close(&self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }

    fn enter(&self, count: usize) -> Result<Place<'_>, LinkError> {
        if self.health.is_over() && guard("link_over") {
            return Err(LinkError::EpochOver);
        }
        let before = self.in_flight.fetch_add(count, Relaxed);
        let place = Place { in_flight: &self.in_flight, count };
        // A batch larger than the bound may go alone, or it could never go.
        if before > 0 && before + count > self.in_flight_max {
            self.metrics.busy.increment(1);
            return Err(LinkError::Busy { limit: self.in_flight_max });
        }
        self.metrics.commands.increment(count as u64);
        Ok(place)
    }

    /// `request` is boxed: each future on the way to the caller would else carry its room, and be copied with it.
    async fn answer<T>(
        &self,
        request: Pin<Box<impl Future<Output = RedisResult<T>>>>,
        patience: Option<&Patience>,
    ) -> Result<T, LinkError> {
        // One or the other, so that a shorter patience costs a command no more than the link's own.
        let expiry = patience.map_or(&*self.wheel, Patience::wheel).expiry();
        tokio::select! {
            biased;
            answer = request => self.answered(answer),
            () = expiry => Err(if patience.is_some() { self.given_up() } else { self.timed_out() }),
        }
    }

    fn answered<T>(&self, answer: RedisResult<T>) -> Result<T, LinkError> {
        match answer {
            Ok(answer) => {
                // Reading first keeps the cache line shared: this is zero nearly always.
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

    fn timed_out(&self) -> LinkError {
        self.metrics.timeouts.increment(1);
        if self.silent.fetch_add(1, Relaxed) + 1 >= self.silent_max {
            self.look_closer();
        }
        LinkError::SILENT
    }

    /// A caller in a hurry says nothing about the server: whether it is silent, those who wait for longer find out.
    fn given_up(&self) -> LinkError {
        self.metrics.timeouts.increment(1);
        LinkError::SILENT
    }

    /// So many silent time-outs may also be one slow command ahead of all others: a probe decides.
    fn look_closer(&self) {
        if guard("link_probe") {
            self.health.suspect();
        } else {
            self.health.end(EndReason::Silent);
        }
    }

    fn judge(&self, answer: Value) -> Result<Value, LinkError> {
        match answer {
            Value::ServerError(error) => {
                self.heed(error.code());
                Err(error.into())
            }
            answer => Ok(answer),
        }
    }

    /// Some refusals are about the server, not the command.
    fn heed(&self, code: &str) {
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

/// A place among the commands in flight, given back however the caller leaves.
struct Place<'a> {
    in_flight: &'a AtomicUsize,
    count: usize,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(self.count, Relaxed);
    }
}
