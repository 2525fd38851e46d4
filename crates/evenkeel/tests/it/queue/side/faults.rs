//! The way to Redis breaks while a consumer works.

use super::desk::{Desk, open};
use super::rig::{Rig, ended, state, told};
use evenkeel::queue::{Handled, Queue};
use testkit::proxy::{Direction, Proxy};

/// A rig on Redis, and the queue `mail` over a proxy.
async fn rig() -> (Rig, Proxy, Queue<String>) {
    let rig = Rig::redis().await;
    let port = rig.url().rsplit(':').next().and_then(|tail| tail.split(['/', '?']).next()?.parse().ok()).unwrap();
    let proxy = Proxy::start(port, 1).await.unwrap();
    let keel = rig.process_through(|url| proxy.url(url)).await;
    let mail = keel.queue("mail").build().await.unwrap();
    (rig, proxy, mail)
}

/// What a claim had leased is leased to nobody if its answer is lost and not asked for again. Time stands still here, so no
/// lease ends.
#[tokio::test]
async fn a_lost_answer_is_asked_for_again() {
    told(async {
        let (rig, proxy, mail) = rig().await;
        let desk = Desk::new();
        let office = open(desk.consumer(&mail));
        mail.now(&"warm".to_owned()).await.unwrap();
        assert_eq!(desk.done().await, "warm");

        let sender = rig.mail().await;
        for number in 0..5 {
            // The next script on this way is the consumer's claim: the sender has another one.
            let mut hold = proxy.hold(Direction::ToClient, "EVALSHA");
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

/// Whatever was on its way, a consumer goes on by itself when Redis is back, and settles what ended meanwhile.
#[tokio::test]
async fn a_consumer_sits_an_outage_out() {
    told(async {
        let (rig, proxy, mail) = rig().await;
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
