//! Starts the processes, kills them and the servers, and ends the run.

use super::super::rig::Sql;
use super::faults::{Fault, Scale};
use super::servers::{Open, Servers, now_ms};
use super::worker::Report;
use futures_util::FutureExt;
use futures_util::future::select_all;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use testkit::eventually_within;
use testkit::process::Worker;
use tokio::sync::oneshot;

/// Longer than what is left over takes.
const DRAIN_MAX: Duration = Duration::from_secs(300);

/// What happened.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) report: Report,
    /// When each killed process died, by its number.
    pub(super) killed: HashMap<u64, u64>,
    /// From when to when a server was away.
    pub(super) outages: Vec<(u64, u64)>,
    pub(super) redis_restarts: u64,
    pub(super) broker_restarts: u64,
    pub(super) seconds: f64,
}

impl Run {
    pub(super) async fn play<DB: Sql>(servers: &mut Servers<DB>, scale: &Scale) -> Self {
        let (mut run, began) = (Self::default(), Instant::now());
        let mut crew = Crew::start(&servers.open, scale.processes);
        let mut faults = scale.faults().into_iter().peekable();
        let mut shown = 0;
        while run.report.ended() < scale.transactions {
            run.report.add(&crew.receive().await);
            while let Some((_, fault)) = faults.next_if(|(at, _)| *at <= run.report.ended()) {
                run.strike(servers, &mut crew, fault).await;
            }
            let part = run.report.ended() * 20 / scale.transactions;
            if part > shown {
                shown = part;
                run.show(scale, began.elapsed());
            }
        }
        crew.finish().await;
        drain(servers).await;
        run.seconds = began.elapsed().as_secs_f64();
        run
    }

    async fn strike<DB: Sql>(&mut self, servers: &mut Servers<DB>, crew: &mut Crew, fault: Fault) {
        let from = now_ms();
        match fault {
            Fault::Kill(slot) => _ = self.killed.insert(crew.replace(slot), now_ms()),
            Fault::Redis => {
                servers.redis.restart().await.unwrap();
                self.redis_restarts += 1;
                self.outages.push((from, now_ms()));
            }
            Fault::Broker => {
                servers.broker.restart().await.unwrap();
                self.broker_restarts += 1;
                self.outages.push((from, now_ms()));
            }
        }
    }

    fn show(&self, scale: &Scale, took: Duration) {
        let line = serde_json::json!({
            "progress": self.report.ended(), "transactions": scale.transactions, "committed": self.report.committed,
            "kills": self.killed.len(), "redis_restarts": self.redis_restarts, "broker_restarts": self.broker_restarts,
            "seconds": took.as_secs_f64(),
        });
        println!("{line}");
    }
}

/// The processes.
struct Crew {
    open: Open,
    workers: Vec<(u64, Worker)>,
    started: u64,
}

impl Crew {
    fn start(open: &Open, processes: usize) -> Self {
        let mut crew = Self { open: open.clone(), workers: Vec::new(), started: 0 };
        for _ in 0..processes {
            let worker = crew.worker();
            crew.workers.push(worker);
        }
        crew
    }

    fn worker(&mut self) -> (u64, Worker) {
        // The driver itself is number 0.
        self.started += 1;
        let mut worker = Worker::start("sql::sim::worker::process").unwrap();
        worker.say(&Open { process: self.started, ..self.open.clone() }).unwrap();
        (self.started, worker)
    }

    /// What the next one says.
    async fn receive(&mut self) -> Report {
        let next = self.workers.iter_mut().map(|(_, worker)| worker.receive().boxed());
        select_all(next).await.0.unwrap()
    }

    /// Kills one and lets another take its place. Answers the number of the dead.
    fn replace(&mut self, slot: usize) -> u64 {
        self.workers[slot].1.process().kill().unwrap();
        let next = self.worker();
        std::mem::replace(&mut self.workers[slot], next).0
    }

    async fn finish(self) {
        for (_, worker) in self.workers {
            worker.finish().await.unwrap();
        }
    }
}

/// Carries out what is left. No other process is left, so what the dead ones had claimed is due at once.
async fn drain<DB: Sql>(servers: &Servers<DB>) {
    servers.run("UPDATE evenkeel_outbox SET due_at = 1, claim = NULL WHERE state = 1").await;
    servers
        .run("UPDATE evenkeel_outbox_keys SET due_at = 1, claim = NULL WHERE due_at IS NOT NULL AND parked_at IS NULL")
        .await;
    let shop = servers.shop().await;
    let relay = shop.keel.relay(&servers.pool).sinks(shop.sinks.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    let relaying = tokio::spawn(async move { relay.run(async { _ = stopped.await }).await });
    let left = async || {
        servers.number("SELECT COUNT(*) FROM evenkeel_outbox WHERE state = 1").await
            + servers
                .number("SELECT COUNT(*) FROM evenkeel_outbox_keys WHERE due_at IS NOT NULL AND parked_at IS NULL")
                .await
    };
    let done = || async { (left().await == 0).then_some(()) };
    eventually_within(DRAIN_MAX, "nothing waits in the outbox", done).await.unwrap();
    stop.send(()).unwrap();
    relaying.await.unwrap();
}
