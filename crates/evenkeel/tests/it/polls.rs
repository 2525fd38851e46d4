//! What a poll costs Redis, of every step that callers repeat while they wait: as much with many callers as with a few. A cost that grows with
//! the callers is one that grows with their square.

use crate::commands::Traced;
use anyhow::{Context, Result, ensure};
use evenkeel::Token;
use evenkeel::clock::Clock;
use evenkeel::link::{Link, LinkOptions};
use evenkeel_protocol::cache::steps::{Begun, Leased, Why};
use evenkeel_protocol::queue::steps::{Enqueued, Limits, SetLimits, SweepLease};
use evenkeel_protocol::stream::StreamBackend;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, Partition};
use evenkeel_protocol::stream::steps::{GroupSpec, Join, Joined, Mode, Open, Position, Read, Reader, Reply};
use testkit::conformance::cache::OnRedis;
use testkit::conformance::cache::player::{Player, asked, opening};
use testkit::conformance::lock::{Party, Rig as Locks};
use testkit::conformance::pool::{PERMITS, Rig as Pools, permits, polling, reader, waiting, writer};
use testkit::conformance::queue::{Consumer, Rig as Queue, job};

/// How many callers wait.
const FEW: u8 = 4;
const MANY: u8 = 100;
/// Commands whose cost is the size of what they read.
const READ_ALL: [&str; 6] = ["HGETALL", "HKEYS", "HVALS", "SMEMBERS", "KEYS", "XRANGE"];

impl Traced {
    /// A link with a prefix of its own.
    async fn link(&self, prefix: &str) -> Result<Link> {
        let mut options = LinkOptions::from_url(&self.redis.url())?;
        prefix.clone_into(&mut options.prefix);
        Ok(Link::connect(options, Clock::system()).await?)
    }

    /// The commands that scripts run while this is awaited. None of them reads all of anything.
    async fn commands_of<T>(&mut self, poll: impl Future<Output = Result<T>>) -> Result<Vec<String>> {
        self.trace.take(&self.redis).await?;
        poll.await?;
        let trace = self.trace.take(&self.redis).await?;
        let mut names = Vec::new();
        for command in trace.0.into_iter().filter(|command| command.from_script) {
            let is_whole = command.name == "ZRANGE" && command.arguments.get(1..3).is_some_and(|of| of == ["0", "-1"]);
            ensure!(!is_whole && !READ_ALL.contains(&&*command.name), "a poll reads everything: {command:?}");
            names.push(command.name);
        }
        ensure!(!names.is_empty(), "a check of nothing");
        Ok(names)
    }
}

async fn exclusive_lock(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let rig = Locks::over(traced.link(prefix).await?).await?;
    rig.take(Party::new(127)).await?;
    for number in 1..=waiters {
        rig.taken_for(&Party::new(number).waiting_call()).await?;
    }
    traced.commands_of(rig.taken_for(&Party::new(1).waiting_call())).await
}

async fn semaphore(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let rig = Pools::over(traced.link(prefix).await?).await?;
    rig.sit(&permits(255, PERMITS)).await?;
    for number in 1..=waiters {
        rig.full_for(&waiting(permits(number, 1))).await?;
    }
    // One poll a second reads the pool for all: this one.
    rig.full_for(&polling(permits(2, 1))).await?;
    traced.commands_of(rig.poll_desks(&polling(permits(1, 1)))).await
}

async fn read_lock(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let rig = Pools::over(traced.link(prefix).await?).await?;
    rig.enter(&writer(255)).await?;
    for number in 1..=waiters {
        rig.shut_for(&waiting(reader(number))).await?;
    }
    rig.shut_for(&polling(reader(2))).await?;
    traced.commands_of(rig.poll_shelf(&polling(reader(1)))).await
}

async fn write_lock(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let rig = Pools::over(traced.link(prefix).await?).await?;
    rig.enter(&reader(255)).await?;
    for number in 1..=waiters {
        rig.shut_for(&waiting(writer(number))).await?;
    }
    rig.shut_for(&polling(writer(2))).await?;
    traced.commands_of(rig.poll_shelf(&polling(writer(1)))).await
}

async fn load_of_another_process(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let redis = OnRedis::on(&traced.redis.url(), prefix).await?;
    let cache = Player::new(&redis);
    cache.grant().await;
    for _ in 0..waiters {
        ensure!(matches!(cache.lease(Why::Miss).await, Leased::Wait { .. }));
    }
    traced.commands_of(async { Ok(cache.lease_with(&asked(Why::Miss)).await) }).await
}

async fn update_window(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let redis = OnRedis::on(&traced.redis.url(), prefix).await?;
    let cache = Player::new(&redis);
    let mut begun = Vec::new();
    for _ in 0..waiters.max(8) {
        begun.push(cache.begin_with(&opening(Token::random())).await);
    }
    ensure!(matches!(begun.last(), Some(Begun::Busy { .. })), "{begun:?}");
    traced.commands_of(async { Ok(cache.begin_with(&opening(Token::random())).await) }).await
}

async fn empty_queue(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let rig = Queue::over(traced.link(prefix).await?, prefix).await?;
    let mut consumers: Vec<Consumer> = (0..waiters).map(|_| Consumer::default()).collect();
    for consumer in &mut consumers {
        ensure!(rig.claim(consumer, 5).await?.is_empty());
    }
    let first = consumers.first_mut().context("there are some")?;
    traced.commands_of(rig.claim(first, 5)).await
}

async fn full_queue(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let rig = Queue::over(traced.link(prefix).await?, prefix).await?;
    rig.run(&SetLimits(Limits { jobs_max: Some(1), bytes_max: None })).await?;
    rig.given(&[job("first")]).await?;
    for number in 0..waiters {
        ensure!(rig.enqueue(job(&number.to_string())).await? == Enqueued::Full);
    }
    traced.commands_of(rig.enqueue(job("0"))).await
}

async fn lease_of_the_sweep(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let rig = Queue::over(traced.link(prefix).await?, prefix).await?;
    let lease = |number: u8| SweepLease { caller: vec![number], ms: 5_000 };
    for number in 0..=waiters {
        rig.run(&lease(number)).await?;
    }
    traced.commands_of(async { Ok(rig.run(&lease(1)).await?) }).await
}

/// The streams of one partition, and its group.
struct Log {
    streams: StreamBackend,
    partition: Partition,
    group: GroupName,
}

impl Log {
    async fn open(traced: &Traced, prefix: &str, mode: Mode) -> Result<Self> {
        let streams = StreamBackend::redis(traced.link(prefix).await?);
        let (partition, group) = (Partition::new(prefix, "orders", 0)?, GroupName::new("billing")?);
        let spec = GroupSpec { name: group.clone(), position: Position::After(EntryId::MIN), mode };
        streams.run(&partition, &Open { groups: vec![spec], last: EntryId::MIN }).await?;
        Ok(Self { streams, partition, group })
    }

    async fn join(&self, number: u8) -> Result<Joined> {
        let (group, consumer) = (self.group.clone(), Token::from([number; 16]));
        let join = Join { group, consumer, lease_ms: 30_000, fence_floor: 0 };
        match self.streams.run(&self.partition, &join).await? {
            Reply::Done(joined) => Ok(joined),
            other => anyhow::bail!("{other:?}"),
        }
    }

    async fn read(&self, reader: Reader) -> Result<()> {
        let read = Read { group: self.group.clone(), reader, limit: 10, lease_ms: 30_000 };
        let reply = self.streams.run(&self.partition, &read).await?;
        ensure!(matches!(&reply, Reply::Done(read) if read.entries.is_empty()), "{reply:?}");
        Ok(())
    }
}

async fn partition_of_another_consumer(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let log = Log::open(traced, prefix, Mode::Partition).await?;
    for number in 1..=waiters {
        log.join(number).await?;
    }
    traced.commands_of(log.join(2)).await
}

async fn empty_partition(traced: &mut Traced, prefix: &str, waiters: u8) -> Result<Vec<String>> {
    let log = Log::open(traced, prefix, Mode::Entry).await?;
    let mut first = None;
    for number in 1..=waiters {
        let joined = log.join(number).await?;
        let Joined::Granted { reader, .. } = joined else { anyhow::bail!("{joined:?}") };
        log.read(reader).await?;
        first = first.or(Some(reader));
    }
    traced.commands_of(log.read(first.context("there are some")?)).await
}

/// Each poll of 400 waiters for permits read the places of all of them: 160,000 a second, and the server answered no one else.
// shows: hazard BL2
#[tokio::test]
async fn poll_of_each_step_costs_as_much_with_many_waiters() -> Result<()> {
    let mut traced = Traced::start().await?;
    macro_rules! each {
        ($($poll:ident)+) => {
            $({
                let [few, many] = [concat!(stringify!($poll), "few"), concat!(stringify!($poll), "many")];
                let few = $poll(&mut traced, few, FEW).await.context(stringify!($poll))?;
                let many = $poll(&mut traced, many, MANY).await.context(stringify!($poll))?;
                ensure!(few == many, "{}: {few:?} with {FEW} waiters, {many:?} with {MANY}", stringify!($poll));
                println!("{}: {} commands", stringify!($poll), many.len());
            })+
        };
    }
    each! {
        exclusive_lock
        semaphore
        read_lock
        write_lock
        load_of_another_process
        update_window
        empty_queue
        full_queue
        lease_of_the_sweep
        partition_of_another_consumer
        empty_partition
    }
    Ok(())
}
