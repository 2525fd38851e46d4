//! A stockroom in this process, for tests that pause it.

use evenkeel::Keel;
use evenkeel::clock::Clock;
use std::time::Duration;
use stockroom::domain::{Calendar, Strategy};
use stockroom::service::{NewArrival, Received, Service, ServiceError, ServiceOptions};
use stockroom::store::Store;
use stockroom::strategy::StrategyContext;
use web::DatabaseUrl;

/// Opens a stockroom on the database at `url` with a context that `adapt` changes.
pub(crate) async fn open(url: &str, keel: &Keel, adapt: impl FnOnce(&mut StrategyContext)) -> Service {
    open_at(url, keel, Clock::system(), None, adapt).await
}

/// As [`open`], with a clock, and with the time within which orders must be paid.
pub(crate) async fn open_at(
    url: &str,
    keel: &Keel,
    clock: Clock,
    pay_within: Option<Duration>,
    adapt: impl FnOnce(&mut StrategyContext),
) -> Service {
    let url: DatabaseUrl = url.parse().unwrap();
    let store = Store::open(&url, clock).await.unwrap();
    let mut context = StrategyContext::new(keel.clone(), 16).unwrap();
    adapt(&mut context);
    let calendar = Calendar::in_zone("UTC").unwrap();
    let options = ServiceOptions { strategy: Strategy::ConditionalUpdate, allow_unfenced: true, calendar, pay_within };
    Service::open(store, keel.clone(), context, options).await.unwrap()
}

/// Receives goods.
pub(crate) async fn receive(
    service: &Service,
    name: &str,
    quantity: i64,
    strategy: Strategy,
) -> Result<Received, ServiceError> {
    let new = NewArrival { commodity_name: name.to_owned(), quantity, day: None };
    service.receive(&new, Some(strategy)).await
}

/// Checks the stock, and that the auditor finds no violation.
pub(crate) async fn assert_sound(service: &Service, name: &str, quantity: i64) {
    let audit = service.audit(name).await.unwrap();
    assert_eq!((audit.quantity, &audit.violations), (quantity, &Vec::new()), "{name}: {audit:?}");
}
