//! The way to Redis breaks while a consumer works.

use crate::queue::side::desk::{Desk, open};
use crate::queue::side::rig::{Rig, ended, in_time, state};
use evenkeel::Keel;
use evenkeel::queue::{Handled, JobId, Queue, QueueError, State};
use std::time::Duration;
use testkit::proxy::{Direction, Proxy};
use testkit::step_command;

/// A rig on Redis, and a keel that reaches it over a proxy, with the queue `mail`.
async fn rig() -> (Rig, Proxy, Keel, Queue<String>) {
    let rig = Rig::redis().await;
    let proxy = Proxy::start(rig.port(), 1).await.unwrap();
    let keel = rig.process_through(|url| proxy.url(url)).await;
    let mail = keel.queue("mail").open().await.unwrap();
    (rig, proxy, keel, mail)
}

/// The jobs of a claim whose reply is lost stay leased unless the claim is requested again. Time is frozen here, so no lease
/// expires.
// shows: Q1, Q3, spec/queue.md
#[tokio::test]
async fn lost_reply_is_requested_again() {
    in_time(async {
        let (rig, proxy, _keel, mail) = rig().await;
        let desk = Desk::new();
        let office = open(desk.consumer(&mail));
        mail.now(&"warm".to_owned()).await.unwrap();
        assert_eq!(desk.done().await, "warm");

        let sender = rig.mail().await;
        for number in 0..5 {
            // The next script in this direction is the consumer's claim: the sender has another one.
            let mut hold = proxy.hold(Direction::ToClient, step_command());
            let body = format!("job {number}");
            let id = sender.now(&body).await.unwrap();
            hold.reached().await.unwrap();
            proxy.cut();
            drop(hold);
            assert_eq!(desk.done().await, body);
            ended(&sender, &id).await;
        }
        office.close().await;
    })
    .await;
}

/// No call is answered after the shutdown, so repeating one lasts as long as the drain. Time is frozen here: the drain never ends.
// shows: hazard A7, queue::Consumer::run
#[tokio::test]
async fn consumer_with_a_call_in_flight_ends_with_its_keel() {
    in_time(async {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let (rig, proxy, keel, mail) = rig().await;
            let desk = Desk::new();
            let consuming = tokio::spawn(desk.consumer(&mail).run(std::future::pending()));
            mail.now(&"warm".to_owned()).await.unwrap();
            assert_eq!(desk.done().await, "warm");

            // The next script in this direction is the consumer's claim: the sender has another one.
            let mut hold = proxy.hold(direction, step_command());
            rig.mail().await.now(&"a".to_owned()).await.unwrap();
            hold.reached().await.unwrap();
            keel.shutdown(Duration::ZERO).await;
            let ended = consuming.await.unwrap();
            assert!(matches!(ended, Err(QueueError::Link(_))), "{direction:?}: {ended:?}");
        }
    })
    .await;
}

/// A consumer continues by itself when Redis is back, and settles the jobs that ended meanwhile.
// shows: queue::Consumer::run
#[tokio::test]
async fn consumer_recovers_from_an_outage() {
    in_time(async {
        let (rig, proxy, _keel, mail) = rig().await;
        let sender = rig.mail().await;
        let desk = Desk::new();
        let office = open(desk.consumer(&mail));
        let id = sender.now(&"before".to_owned()).await.unwrap();
        let case = desk.next().await;
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        let during = sender.now(&"during".to_owned()).await.unwrap();
        case.answer(Ok(Handled::Done));
        assert!(desk.next_at_once().await.is_none());
        proxy.refuse(false).await.unwrap();
        let during_case = desk.next().await;
        assert_eq!(during_case.delivery.id, during);
        during_case.answer(Ok(Handled::Done));
        office.close().await;
        assert_eq!((state(&sender, &id).await, state(&sender, &during).await), (None, None));
    })
    .await;
}

/// A process that was stopped while it claimed jobs started them when it went on, although their leases had passed.
// shows: hazard SF9
#[tokio::test]
async fn job_is_not_started_when_its_lease_has_passed_by_the_own_clock() {
    in_time(async {
        let rig = Rig::redis().await;
        let proxy = Proxy::start(rig.port(), 1).await.unwrap();
        // The reply must not time out when the clock of the processes jumps.
        let keel = rig.process_through(|url| format!("{}?response_timeout_ms=7200000", proxy.url(url))).await;
        let mail = keel.queue("mail").open().await.unwrap();
        let (sender, desk) = (rig.mail().await, Desk::new());
        // Its process has used the shard, so that its next call is the claim.
        let id = mail.now(&"a".to_owned()).await.unwrap();
        let claimed_at = rig.now_ms();
        let mut hold = proxy.hold(Direction::ToClient, step_command());
        let office = open(desk.consumer(&mail));
        hold.reached().await.unwrap();
        while state(&sender, &id).await != Some(State::Leased) {
            tokio::task::yield_now().await;
        }
        rig.advance_processes(Duration::from_secs(31));
        hold.release();
        let case = desk.next().await;
        assert!(case.delivery.fence > claimed_at * 1_000, "the first delivery was released, and the job claimed again");
        case.answer(Ok(Handled::Done));
        office.close().await;
    })
    .await;
}

/// A consumer with nothing to do waited as long as its drain for the reply to a claim.
// shows: hazard SF7
#[tokio::test]
async fn idle_consumer_ends_soon_during_an_outage() {
    in_time(async {
        let (rig, proxy, _keel, mail) = rig().await;
        let desk = Desk::new();
        let mut listening = proxy.hold(Direction::ToServer, "BZPOPMIN");
        let office = open(desk.consumer(&mail).drain(Duration::from_secs(3_600)));
        // Without a job: a consumer that lost the reply to a settlement rightly waits for its drain.
        listening.reached().await.unwrap();
        listening.release();
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        for _ in 0..3 {
            rig.advance(Duration::from_secs(2)).await;
            assert!(desk.next_at_once().await.is_none());
        }
        let stopped_at = rig.now_ms();
        rig.while_time_passes_by(Duration::from_secs(1), office.close()).await;
        let took_ms = rig.now_ms() - stopped_at;
        assert!(took_ms < 60_000, "{took_ms} ms");
    })
    .await;
}

/// A process that dies with a wake-up loses it: the job starts within the second nevertheless.
// shows: Q2
#[tokio::test]
async fn lost_wake_up_delays_a_job_by_at_most_a_second() {
    in_time(async {
        let rig = Rig::redis().await;
        let mail = rig.mail().await;
        let desk = Desk::new();
        // Waits longer than any consumer, so that the first marker is its.
        let client = redis::Client::open(rig.url()).unwrap();
        let mut thief = client.get_multiplexed_async_connection_with_config(&without_response_timeout()).await.unwrap();
        let (_, shard) = mail.steps(&JobId([0; 16]));
        let number: u64 = redis::cmd("CLIENT").arg("ID").query_async(&mut thief).await.unwrap();
        let key = format!("{}:wake", shard.tag());
        let stolen = tokio::spawn(async move {
            redis::cmd("BZPOPMIN").arg(key).arg(0).query_async::<redis::Value>(&mut thief).await.unwrap()
        });
        let mut other = client.get_multiplexed_async_connection().await.unwrap();
        let waits = async |other: &mut redis::aio::MultiplexedConnection| {
            let list: String = redis::cmd("CLIENT").arg("LIST").arg("ID").arg(number).query_async(other).await.unwrap();
            list.contains("cmd=bzpopmin")
        };
        while !waits(&mut other).await {
            tokio::task::yield_now().await;
        }

        let office = open(desk.consumer(&mail));
        mail.now(&"warm".to_owned()).await.unwrap();
        stolen.await.unwrap();
        rig.advance(Duration::from_millis(1_250)).await;
        assert_eq!(desk.done().await, "warm", "a second, give or take a quarter");
        office.close().await;
    })
    .await;
}

fn without_response_timeout() -> redis::AsyncConnectionConfig {
    redis::AsyncConnectionConfig::new().set_response_timeout(None)
}
