//! C3, cache stampede: 256 readers in each of three processes read one key, and the database is queried once.

use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::link::LinkOptions;
use evenkeel::testing::{Side, Step, StepGate};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use testkit::park::{SharedRedis, redis};
use testkit::process::{Station, Worker};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

const READERS: usize = 256;

/// What the test sends to a process.
#[derive(Serialize, Deserialize)]
enum Request {
    /// Where the cache is.
    Open { url: String, prefix: String },
    /// All readers at once, each until it gets this value.
    ReadUntil(u64),
    /// Loads that wait may end, with this value.
    Load(u64),
    /// The row was written.
    Invalidate,
}

/// What a process sends to the test.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Report {
    Ready,
    /// A reader has received the reply to its lease.
    Asked,
    /// All readers have their value; this many loads began in this process for them.
    Read {
        loads: usize,
    },
}

// shows: C3
#[tokio::test]
async fn readers_in_three_processes_share_one_load() {
    let server = redis().await.unwrap();
    let mut crowd = Crowd::gather(&server).await;

    crowd.tell(&Request::ReadUntil(1));
    assert_eq!(crowd.load(1).await, 1, "a key without earlier reads");

    crowd.expire(&server).await;
    crowd.tell(&Request::ReadUntil(2));
    assert_eq!(crowd.load(2).await, 1, "a key that has expired");

    // Now they read while it happens.
    crowd.tell(&Request::ReadUntil(3));
    crowd.0[0].say(&Request::Invalidate).unwrap();
    assert_eq!(crowd.load(3).await, 1, "a key that was invalidated under its readers");
    for worker in crowd.0 {
        worker.finish().await.unwrap();
    }
}

struct Crowd([Worker; 3]);

impl Crowd {
    async fn gather(server: &SharedRedis) -> Self {
        let mut crowd = Self([(); 3].map(|()| Worker::start("cache::reads::loads::crowd::process").unwrap()));
        crowd.tell(&Request::Open { url: server.url.clone(), prefix: server.prefix.clone() });
        crowd.receive(&Report::Ready).await;
        crowd
    }

    fn tell(&mut self, what: &Request) {
        self.0.iter_mut().for_each(|worker| worker.say(what).unwrap());
    }

    /// Waits until each process has sent this message.
    async fn receive(&mut self, what: &Report) {
        for worker in &mut self.0 {
            assert_eq!(worker.receive::<Report>().await.unwrap(), *what);
        }
    }

    /// Lets the load end once all processes wait for it, and counts loads when all readers have their value.
    async fn load(&mut self, value: u64) -> usize {
        self.receive(&Report::Asked).await;
        self.tell(&Request::Load(value));
        let mut sum = 0;
        for worker in &mut self.0 {
            match worker.receive().await.unwrap() {
                Report::Read { loads } => sum += loads,
                other => panic!("{other:?}"),
            }
        }
        sum
    }

    /// Redis expires the entry now.
    async fn expire(&self, server: &SharedRedis) {
        let client = ::redis::Client::open(&*server.url).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let key = format!("{}:c:row:{{1}}", server.prefix);
        let gone: i64 = ::redis::cmd("PEXPIRE").arg(key).arg(-1).query_async(&mut connection).await.unwrap();
        assert_eq!(gone, 1);
    }
}

/// One process of the crowd.
#[tokio::test]
#[ignore = "a worker of the crowd"]
async fn process() {
    let Some(mut station) = Station::open().unwrap() else { return };
    let Request::Open { url, prefix } = station.receive().await.unwrap() else { panic!("not open") };
    let gate = StepGate::default();
    let rows = open(&url, prefix, &gate).await;
    station.say(&Report::Ready).unwrap();

    let row = watch::Sender::new(None);
    let (begun, mut begins) = mpsc::unbounded_channel();
    let mut readers = JoinSet::new();
    let (mut asked, mut has_asked) = (gate.hold(Step::Lease, Side::BeforeAnswer), false);
    loop {
        tokio::select! {
            report = station.receive() => match report {
                Ok(Request::ReadUntil(value)) => {
                    row.send_replace(None);
                    has_asked = false;
                    for _ in 0..READERS {
                        readers.spawn(read_until(value, rows.clone(), row.clone(), begun.clone()));
                    }
                }
                Ok(Request::Load(value)) => _ = row.send_replace(Some(value)),
                Ok(Request::Invalidate) => _ = rows.invalidate(&1).await.unwrap(),
                Ok(Request::Open { .. }) => panic!("open already"),
                Err(_) => return,
            },
            () = asked.reached() => {
                std::mem::replace(&mut asked, gate.hold(Step::Lease, Side::BeforeAnswer)).release();
                if !std::mem::replace(&mut has_asked, true) {
                    station.say(&Report::Asked).unwrap();
                }
            }
            Some(read) = readers.join_next() => {
                read.unwrap();
                if readers.is_empty() {
                    let loads = std::iter::from_fn(|| begins.try_recv().ok()).count();
                    station.say(&Report::Read { loads }).unwrap();
                }
            }
        }
    }
}

async fn open(url: &str, prefix: String, gate: &StepGate) -> Cache<u64, u64> {
    let mut options = LinkOptions::from_url(url).unwrap();
    options.prefix = prefix;
    let keel = Keel::builder().connect_with(options).await.unwrap();
    // A long lease: on a loaded machine the load may take long, and after the lease a second load would be correct.
    let minute = Duration::from_secs(60);
    let rows = keel.cache("row").ttl(10 * minute).lease(minute).load_budget(minute).load_timeout(minute);
    rows.gate(gate).open().await.unwrap()
}

async fn read_until(
    value: u64,
    rows: Cache<u64, u64>,
    row: watch::Sender<Option<u64>>,
    begun: mpsc::UnboundedSender<()>,
) {
    let load = || {
        let (mut row, begun) = (row.subscribe(), begun.clone());
        async move {
            begun.send(()).unwrap();
            Ok::<_, Infallible>(*row.wait_for(Option::is_some).await.unwrap())
        }
    };
    while rows.get(&1, |_| load()).await.unwrap().map(Arc::unwrap_or_clone) != Some(value) {
        tokio::task::yield_now().await;
    }
}
