//! A backend, a clock that is frozen until a test advances it, and the few calls most tests make.

use crate::conformance::rig::{ServerTime, shared_link};
use crate::park::SharedRedis;
use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use evenkeel::Token;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel::testing::TestClock;
use evenkeel_protocol::queue::job::{Job, JobId, JobSpec};
use evenkeel_protocol::queue::steps::{
    Claimed, Delivered, Enqueue, Enqueued, Found, Heartbeat, NewJob, Next, Outcome, PopMarker, Receipt, Report, Rescue,
    Rescued, Room, SettleAndClaim, Settled, Shard, State, Verdict, When, Worker,
};
use evenkeel_protocol::queue::{QueueBackend, QueueError};
use evenkeel_protocol::step::Step;

/// The lease all tests use unless they say otherwise.
const LEASE_MS: u64 = 30_000;

/// One backend under test.
pub struct Rig {
    /// What runs the steps.
    pub queue: QueueBackend,
    /// The server's clock.
    pub time: ServerTime,
    /// The shard this test has for itself.
    pub shard: Shard,
    _redis: Option<SharedRedis>,
}

impl Rig {
    /// The model.
    pub async fn memory() -> Result<Self> {
        let clock = TestClock::default();
        let queue = QueueBackend::memory(clock.clock());
        Ok(Self { queue, time: ServerTime::Model(clock), shard: Shard::new("t", "mail", 0), _redis: None })
    }

    /// The scripts, on the run's shared Redis.
    pub async fn redis() -> Result<Self> {
        let (link, redis) = shared_link().await?;
        let mut rig = Self::over(link, &redis.prefix).await?;
        rig._redis = Some(redis);
        Ok(rig)
    }

    /// The scripts on the Redis at `url`, under `prefix`.
    pub async fn on(url: &str, prefix: &str) -> Result<Self> {
        let link = Link::connect(LinkOptions::from_url(url)?, Clock::system()).await?;
        Self::over(link, prefix).await
    }

    /// The scripts over this link, under `prefix`.
    pub async fn over(link: Link, prefix: &str) -> Result<Self> {
        let time = ServerTime::of_scripts(&link, prefix).await?;
        Ok(Self { queue: QueueBackend::redis(link), time, shard: Shard::new(prefix, "mail", 0), _redis: None })
    }

    /// The same shard and clock, seen by another process.
    #[must_use]
    pub fn seen_by(self, queue: QueueBackend) -> Self {
        Self { queue, ..self }
    }

    /// Runs one step on the rig's shard.
    ///
    /// # Errors
    /// As [`QueueBackend::run`].
    pub async fn run<S: Step<Shard>>(&self, step: &S) -> Result<S::Reply, QueueError> {
        self.queue.run(&self.shard, step).await
    }
}

/// A worker, and the sequence of its next call.
#[derive(Debug)]
pub struct Consumer {
    /// Its name.
    pub worker: Worker,
    /// Of its latest call.
    pub sequence: u64,
    /// The token of its latest call.
    pub token: Token,
}

impl Default for Consumer {
    fn default() -> Self {
        Self { worker: Worker(*Token::random().as_bytes()), sequence: 0, token: Token::random() }
    }
}

impl Consumer {
    /// A call that only claims.
    pub fn call(&mut self, limit: usize) -> SettleAndClaim {
        self.sequence += 1;
        self.token = Token::random();
        SettleAndClaim {
            worker: self.worker,
            sequence: self.sequence,
            settlements: Vec::new(),
            limit,
            lease_ms: LEASE_MS,
            token: self.token,
            fence_floor: 0,
            room: Room { slots: 1, level: 0, running: 0 },
        }
    }
}

/// A job that is due now, with its name as id and body, and without a completion record. Names of up to 16 bytes sort like ids.
pub fn job(name: &str) -> NewJob {
    let mut id = [0; 16];
    id.iter_mut().zip(name.bytes()).for_each(|(id, byte)| *id = byte);
    NewJob { id: JobId(id), when: When::In(0), spec: JobSpec::new(Bytes::copy_from_slice(name.as_bytes())) }
}

/// The name of a job made by [`job`].
pub fn plain(delivered: &Delivered) -> String {
    delivered.job.as_ref().map_or_else(ToString::to_string, |job| String::from_utf8_lossy(&job.spec.body).into_owned())
}

impl Rig {
    /// Enqueues one job.
    pub async fn enqueue(&self, job: NewJob) -> Result<Enqueued> {
        let answers = self.run(&Enqueue(vec![job])).await?;
        answers.first().copied().context("no answer")
    }

    /// Enqueues jobs that must be created.
    pub async fn given(&self, jobs: &[NewJob]) -> Result<()> {
        let answers = self.run(&Enqueue(jobs.to_vec())).await?;
        assert!(answers.iter().all(|answer| *answer == Enqueued::Created), "{answers:?}");
        Ok(())
    }

    /// A call that is not stale.
    pub async fn settle_and_claim(&self, call: &SettleAndClaim) -> Result<Claimed> {
        match self.run(call).await? {
            Settled::Done(claimed) => Ok(claimed),
            Settled::Stale => bail!("the call is stale"),
        }
    }

    /// Claims up to `limit` jobs.
    pub async fn claim(&self, consumer: &mut Consumer, limit: usize) -> Result<Vec<Delivered>> {
        Ok(self.settle_and_claim(&consumer.call(limit)).await?.deliveries)
    }

    /// Claims one job that must be there.
    pub async fn claim_one(&self, consumer: &mut Consumer) -> Result<Delivered> {
        self.claim(consumer, 1).await?.pop().context("nothing to claim")
    }

    /// The names of the jobs that a new consumer receives, and of those only.
    pub async fn claimable(&self, limit: usize) -> Result<Vec<String>> {
        Ok(self.claim(&mut Consumer::default(), limit).await?.iter().map(plain).collect())
    }

    /// Settles one delivery.
    pub async fn settle(&self, consumer: &mut Consumer, receipt: Receipt, outcome: Outcome) -> Result<Verdict> {
        let call = SettleAndClaim { settlements: vec![(receipt, outcome)], ..consumer.call(0) };
        self.settle_and_claim(&call).await?.verdicts.pop().context("no verdict")
    }

    /// A failure with this delay before the next attempt.
    pub async fn fail(&self, consumer: &mut Consumer, receipt: Receipt, retry_ms: u64) -> Result<Verdict> {
        let error = Bytes::from_static(b"no route to host");
        self.settle(consumer, receipt, Outcome::Failed { retry_ms, error }).await
    }

    /// Claims one job and lets it die.
    pub async fn kill(&self, consumer: &mut Consumer) -> Result<Delivered> {
        let delivered = self.claim_one(consumer).await?;
        let reason = Bytes::from_static(b"no such customer");
        let verdict = self.settle(consumer, delivered.receipt, Outcome::Dead { reason }).await?;
        assert_eq!(verdict, Verdict::Died);
        Ok(delivered)
    }

    /// Extends one lease.
    pub async fn heartbeat(&self, consumer: &Consumer, receipt: Receipt, started: bool) -> Result<bool> {
        self.report(consumer, receipt, if started { Report::STARTED } else { Report::WAITS }).await
    }

    /// Extends one lease, and says how its delivery runs.
    pub async fn report(&self, consumer: &Consumer, receipt: Receipt, report: Report) -> Result<bool> {
        let heartbeat = Heartbeat { worker: consumer.worker, lease_ms: LEASE_MS, deliveries: vec![(receipt, report)] };
        Ok(self.run(&heartbeat).await? == [true])
    }

    /// Takes expired leases back: three crashes make a job dead, the first wait is a second.
    pub async fn rescue(&self) -> Result<Rescued> {
        let rescue = Rescue { limit: 500, crash_max: 3, crash_delay_ms: 1_000, row_decides: false };
        Ok(self.run(&rescue).await?)
    }

    /// Lets every lease expire and takes it back.
    pub async fn expire_leases(&self) -> Result<Rescued> {
        self.time.advance(LEASE_MS).await?;
        self.rescue().await
    }

    /// Where a job is, if it lives.
    pub async fn state(&self, id: JobId) -> Result<Option<State>> {
        Ok(match self.queue.job(&self.shard, id).await? {
            Some(Found::Live { state, .. }) => Some(state),
            _ => None,
        })
    }

    /// A live job.
    pub async fn live(&self, id: JobId) -> Result<Job> {
        match self.queue.job(&self.shard, id).await? {
            Some(Found::Live { job, .. }) => Ok(*job),
            other => bail!("not alive: {other:?}"),
        }
    }

    /// When there is something to claim; now there must be nothing.
    pub async fn next(&self) -> Result<Next> {
        let claimed = self.settle_and_claim(&Consumer::default().call(1)).await?;
        ensure!(claimed.deliveries.is_empty(), "a job is due already");
        Ok(claimed.next)
    }

    /// How many markers there are; takes them.
    pub async fn markers(&self) -> Result<u64> {
        let mut markers = 0;
        while self.run(&PopMarker).await? {
            markers += 1;
        }
        Ok(markers)
    }
}
