//! A stockroom in this process, for tests that hold it up at one place.

use evenkeel::Keel;
use evenkeel::clock::Clock;
use stockroom::domain::{Days, Strategy};
use stockroom::service::{Arrived, NewArrival, Rules, Service, ServiceError};
use stockroom::store::Store;
use stockroom::strategy::Tools;
use web::DatabaseUrl;

/// A stockroom on the database of `url`, with tools that `adapt` has changed.
pub(super) async fn room(url: &str, keel: &Keel, adapt: impl FnOnce(&mut Tools)) -> Service {
    let url: DatabaseUrl = url.parse().unwrap();
    let store = Store::open(&url, Clock::system()).await.unwrap();
    let mut tools = Tools::new(keel.clone(), 16).unwrap();
    adapt(&mut tools);
    let days = Days::of_zone("UTC").unwrap();
    let rules = Rules { strategy: Strategy::ConditionalUpdate, allow_unfenced: true, days };
    Service::open(store, keel.clone(), tools, rules).await.unwrap()
}

/// Takes goods in.
pub(super) async fn arrive(
    service: &Service,
    name: &str,
    quantity: i64,
    strategy: Strategy,
) -> Result<Arrived, ServiceError> {
    let new = NewArrival { commodity_name: name.to_owned(), quantity, day: None };
    service.arrive(&new, Some(strategy)).await
}

/// The auditor finds nothing, and the stock is this.
pub(super) async fn is_sound(service: &Service, name: &str, quantity: i64) {
    let audit = service.audit(name).await.unwrap();
    assert_eq!((audit.quantity, &audit.violations), (quantity, &Vec::new()), "{name}: {audit:?}");
}
