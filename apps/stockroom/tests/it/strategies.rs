//! Every strategy on every database: alone, and all of them on the same product.

use super::support::in_process::{assert_sound, open, receive};
use evenkeel::Keel;
use evenkeel::lock::Redlock;
use std::sync::Arc;
use stockroom::domain::{ChangeRejected, Strategy};
use stockroom::service::{Service, ServiceError};
use stockroom::strategy::ChangeError;
use testkit::park::{SharedRedis, mariadb_database, postgres_database, redis, sqlite_database};
use tokio::task::JoinSet;

/// Number of concurrent changes.
const CHANGES: i64 = 24;

const CAP: i64 = 50;

async fn all_strategies(url: &str, keel: &Keel) {
    let service = open(url, keel, |context| {
        context.cap = CAP;
        context.redlock = Some(Redlock::memory(5).unwrap());
    })
    .await;
    let offered: Vec<Strategy> =
        Strategy::ALL.into_iter().filter(|strategy| strategy.is_safe() && service.offers(*strategy)).collect();
    for strategy in &offered {
        let name = format!("only {strategy}");
        service.add_product(&name).await.unwrap();
        fill_and_empty(&service, &name, &[*strategy]).await;
    }
    service.add_product("all").await.unwrap();
    fill_and_empty(&service, "all", &offered).await;
    fill_and_empty(&service, "all", &offered).await;
    release_concurrently(&service, &offered).await;
    service.store().close().await;
}

/// Concurrent deliveries of 3 reach the cap; then concurrent orders of 2 empty the stock.
async fn fill_and_empty(service: &Service, name: &str, strategies: &[Strategy]) {
    let received = concurrently(service, name, strategies, |service, name, strategy| async move {
        receive(&service, &name, 3, strategy).await.map(|received| received.applied.quantity)
    })
    .await;
    assert_eq!(received, CAP / 3, "{name}: the cap allows exactly these");
    assert_sound(service, name, CAP / 3 * 3).await;
    let ordered = concurrently(service, name, strategies, |service, name, strategy| async move {
        service.reserve(&name, 2, Some(strategy)).await.map(|created| created.order.quantity)
    })
    .await;
    assert_eq!(ordered, CAP / 3 * 3 / 2, "{name}: the stock suffices for exactly these");
    assert_sound(service, name, 0).await;
}

/// Executes [`CHANGES`] concurrent changes and returns how many were committed. The rule must reject the others.
async fn concurrently<F>(
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
    let mut committed = 0;
    for changed in tasks.join_all().await {
        match changed {
            Ok(_) => committed += 1,
            Err(ServiceError::Change(ChangeError::Rejected(
                ChangeRejected::CapExceeded { .. } | ChangeRejected::Insufficient { .. },
            ))) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
    committed
}

async fn release_concurrently(service: &Service, strategies: &[Strategy]) {
    service.add_product("pears").await.unwrap();
    receive(service, "pears", 9, Strategy::Optimistic).await.unwrap();
    let order = service.reserve("pears", 4, None).await.unwrap().order;
    let mut tasks = JoinSet::new();
    for strategy in strategies.iter().cycle().take(12).copied() {
        let (service, id) = (service.clone(), order.id.clone());
        tasks.spawn(async move { service.release(&id, Some(strategy)).await.unwrap().applied.is_some() });
    }
    let released = tasks.join_all().await.into_iter().filter(|is_released| *is_released).count();
    assert_eq!(released, 1, "one of twelve concurrent releases changes the stock");
    assert_sound(service, "pears", 9).await;
}

#[tokio::test]
async fn every_strategy_keeps_the_rule_on_sqlite() {
    all_strategies(&sqlite_database().unwrap().url, &Keel::memory()).await;
}

#[tokio::test]
async fn every_strategy_keeps_the_rule_on_mariadb() {
    let (_server, keel) = on_redis().await;
    all_strategies(&mariadb_database().await.unwrap().url, &keel).await;
}

#[tokio::test]
async fn every_strategy_keeps_the_rule_on_postgres() {
    let (_server, keel) = on_redis().await;
    all_strategies(&postgres_database().await.unwrap().url, &keel).await;
}

/// A service with another cap joins stocks that were split for the previous one.
#[tokio::test]
async fn lowered_cap_applies_to_a_split_stock() {
    let database = sqlite_database().unwrap();
    let keel = Keel::memory();
    let service = open(&database.url, &keel, |context| context.cap = 100).await;
    service.add_product("apples").await.unwrap();
    receive(&service, "apples", 40, Strategy::Segmented).await.unwrap();
    service.store().close().await;
    let service = open(&database.url, &keel, |context| context.cap = 50).await;
    let rejected = receive(&service, "apples", 11, Strategy::Segmented).await;
    assert!(
        matches!(
            rejected,
            Err(ServiceError::Change(ChangeError::Rejected(ChangeRejected::CapExceeded { quantity: 40, cap: 50 })))
        ),
        "{rejected:?}"
    );
    receive(&service, "apples", 10, Strategy::Segmented).await.unwrap();
    assert_sound(&service, "apples", 50).await;
}

/// A handle on a Redis with its own prefix, and the server's guard.
async fn on_redis() -> (SharedRedis, Keel) {
    let server = redis().await.unwrap();
    let mut options = evenkeel::link::LinkOptions::from_url(&server.url).unwrap();
    options.prefix = server.prefix.clone();
    let keel = Keel::builder().connect_with(options).await.unwrap();
    (server, keel)
}
