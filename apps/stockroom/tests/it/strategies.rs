//! Every strategy on every database: alone, and all of them side by side on one product.

use super::room::{arrive, is_sound, room};
use evenkeel::Keel;
use evenkeel::lock::Redlock;
use std::sync::Arc;
use stockroom::domain::{RefusedChange, Strategy};
use stockroom::service::{Service, ServiceError};
use stockroom::strategy::ChangeError;
use testkit::park::{SharedRedis, mariadb_database, postgres_database, redis, sqlite_database};
use tokio::task::JoinSet;

/// Changes by each strategy, and how many of them are made at once.
const CHANGES: i64 = 24;

const CAP: i64 = 50;

async fn suite(url: &str, keel: &Keel) {
    let service = room(url, keel, |tools| {
        tools.cap = CAP;
        tools.redlock = Some(Redlock::memory(5).unwrap());
    })
    .await;
    let offered: Vec<Strategy> =
        Strategy::ALL.into_iter().filter(|strategy| strategy.is_safe() && service.offers(*strategy)).collect();
    for strategy in &offered {
        let name = format!("only {strategy}");
        service.add_product(&name).await.unwrap();
        crowd(&service, &name, &[*strategy]).await;
    }
    service.add_product("all").await.unwrap();
    crowd(&service, "all", &offered).await;
    crowd(&service, "all", &offered).await;
    an_order_is_released_once(&service, &offered).await;
    service.store().close().await;
}

/// Many take in three each, until there is no more room; then many take two each, until there is nothing left.
async fn crowd(service: &Service, name: &str, strategies: &[Strategy]) {
    let arrived = at_once(service, name, strategies, |service, name, strategy| async move {
        arrive(&service, &name, 3, strategy).await.map(|arrived| arrived.changed.quantity)
    })
    .await;
    assert_eq!(arrived, CAP / 3, "{name}: as many as there is room for, not one more");
    is_sound(service, name, CAP / 3 * 3).await;
    let ordered = at_once(service, name, strategies, |service, name, strategy| async move {
        service.reserve(&name, 2, Some(strategy)).await.map(|ordered| ordered.order.quantity)
    })
    .await;
    assert_eq!(ordered, CAP / 3 * 3 / 2, "{name}: as many as there are goods for, not one more");
    is_sound(service, name, 0).await;
}

/// Makes [`CHANGES`] changes at once; answers how many happened. The others must be refused by the rule.
async fn at_once<F>(
    service: &Service,
    name: &str,
    strategies: &[Strategy],
    change: impl Fn(Service, Arc<str>, Strategy) -> F,
) -> i64
where
    F: Future<Output = Result<i64, ServiceError>> + Send + 'static,
{
    let name: Arc<str> = name.into();
    let mut tasks = JoinSet::new();
    for (_, strategy) in (0..CHANGES).zip(strategies.iter().cycle()) {
        tasks.spawn(change(service.clone(), Arc::clone(&name), *strategy));
    }
    let mut happened = 0;
    for changed in tasks.join_all().await {
        match changed {
            Ok(_) => happened += 1,
            Err(ServiceError::Change(ChangeError::Refused(
                RefusedChange::CapExceeded { .. } | RefusedChange::Insufficient { .. },
            ))) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
    happened
}

async fn an_order_is_released_once(service: &Service, strategies: &[Strategy]) {
    service.add_product("pears").await.unwrap();
    arrive(service, "pears", 9, Strategy::Optimistic).await.unwrap();
    let order = service.reserve("pears", 4, None).await.unwrap().order;
    let mut tasks = JoinSet::new();
    for strategy in strategies.iter().cycle().take(12).copied() {
        let (service, id) = (service.clone(), order.id.clone());
        tasks.spawn(async move { service.release(&id, Some(strategy)).await.unwrap().changed.is_some() });
    }
    let released = tasks.join_all().await.into_iter().filter(|is_released| *is_released).count();
    assert_eq!(released, 1, "twelve ask, and it happens once");
    is_sound(service, "pears", 9).await;
}

#[tokio::test]
async fn sqlite_keeps_the_rule_by_every_strategy() {
    suite(&sqlite_database().unwrap().url, &Keel::memory()).await;
}

#[tokio::test]
async fn mariadb_keeps_the_rule_by_every_strategy() {
    let (_server, keel) = on_redis().await;
    suite(&mariadb_database().await.unwrap().url, &keel).await;
}

#[tokio::test]
async fn postgres_keeps_the_rule_by_every_strategy() {
    let (_server, keel) = on_redis().await;
    suite(&postgres_database().await.unwrap().url, &keel).await;
}

/// A service that is started with another cap makes stocks whole that were split for the former one.
#[tokio::test]
async fn a_cap_that_was_lowered_holds_for_a_split_stock() {
    let database = sqlite_database().unwrap();
    let keel = Keel::memory();
    let service = room(&database.url, &keel, |tools| tools.cap = 100).await;
    service.add_product("apples").await.unwrap();
    arrive(&service, "apples", 40, Strategy::Segmented).await.unwrap();
    service.store().close().await;
    let service = room(&database.url, &keel, |tools| tools.cap = 50).await;
    let refused = arrive(&service, "apples", 11, Strategy::Segmented).await;
    assert!(
        matches!(
            refused,
            Err(ServiceError::Change(ChangeError::Refused(RefusedChange::CapExceeded { quantity: 40, cap: 50 })))
        ),
        "{refused:?}"
    );
    arrive(&service, "apples", 10, Strategy::Segmented).await.unwrap();
    is_sound(&service, "apples", 50).await;
}

/// A keel on a Redis, and what keeps that alive.
async fn on_redis() -> (SharedRedis, Keel) {
    let server = redis().await.unwrap();
    let mut options = evenkeel::link::LinkOptions::from_url(&server.url).unwrap();
    options.prefix = server.prefix.clone();
    let keel = Keel::builder().connect_with(options).await.unwrap();
    (server, keel)
}
