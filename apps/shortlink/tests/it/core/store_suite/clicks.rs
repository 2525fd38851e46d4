//! Counters of clicks.

use super::tools::{code, delete, make};
use evenkeel::testing::TestClock;
use shortlink::domain::{ClickCounts, DayNumber};
use shortlink::store::{ClickDelta, Store, Writer};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn today(store: &Store) -> DayNumber {
    DayNumber::of_ms(store.now().as_millisecond())
}

fn delta(entry: &str, of: &str, day: DayNumber, people: u64, bots: u64) -> ClickDelta {
    ClickDelta { entry: entry.to_owned(), clicks: vec![(code(of), day, ClickCounts { people, bots })] }
}

/// The last two days and the total.
async fn counted(store: &Store, of: &str) -> ([(u64, u64); 2], (u64, u64)) {
    let stats = store.clicks(&code(of), 2).await.unwrap();
    let numbers = |counts: ClickCounts| (counts.people, counts.bots);
    (std::array::from_fn(|day| numbers(stats.days[day].counts)), numbers(stats.total))
}

pub(super) async fn entries_are_added_once(store: &Writer, clock: &TestClock) {
    make(store, Some("clicked"), "https://clicks.example/").await.unwrap();
    assert_eq!(counted(store, "clicked").await, ([(0, 0); 2], (0, 0)));
    let day = today(store);
    let first = [
        delta("one/1", "clicked", day, 3, 1),
        delta("one/2", "clicked", day, 1, 0),
        delta("one/3", "Clicked", day, 7, 0),
        // Counted before midnight by a process that appended later.
        delta("two/1", "clicked", DayNumber(day.0 - 1), 2, 0),
    ];
    assert_eq!(store.fold_clicks(&first).await.unwrap(), 14);
    assert_eq!(counted(store, "clicked").await, ([(2, 0), (4, 1)], (6, 1)));
    assert_eq!(counted(store, "Clicked").await, ([(0, 0), (7, 0)], (7, 0)), "codes differ by case");

    // The process died between its commit and the settlement; the entries come again, some of them next to new ones.
    let again = [first[0].clone(), delta("one/4", "clicked", day, 10, 0), first[3].clone(), first[1].clone()];
    assert_eq!(store.fold_clicks(&again).await.unwrap(), 10);
    assert_eq!(store.fold_clicks(&again).await.unwrap(), 0);
    assert_eq!(store.fold_clicks(&[]).await.unwrap(), 0);
    assert_eq!(counted(store, "clicked").await, ([(2, 0), (14, 1)], (16, 1)));

    // More links than one statement adds, one of them twice, and again.
    let of = |link: usize| (code(&format!("many-{link}")), day, ClickCounts { people: 1, bots: 2 });
    for entry in ["five/1", "five/2"] {
        let many = ClickDelta { entry: entry.to_owned(), clicks: (0..300).chain([299]).map(of).collect() };
        assert_eq!(store.fold_clicks(&[many]).await.unwrap(), 903);
    }
    assert_eq!(counted(store, "many-0").await.1, (2, 4));
    assert_eq!(counted(store, "many-299").await.1, (4, 8));

    clock.advance(DAY);
    assert_eq!(counted(store, "clicked").await, ([(14, 1), (0, 0)], (16, 1)));
}

/// As after a lease has passed: two instances have the same entries, and others for the same counters.
pub(super) async fn concurrent_folds_add_each_entry_once(store: &Writer) {
    let day = today(store);
    let entries = |source: &str| -> Vec<ClickDelta> {
        let names = (0..20).map(|number| format!("{source}/{number}"));
        names.map(|name| delta(&name, ["crowd-a", "crowd-b"][name.len() % 2], day, 1, 0)).collect()
    };
    let (shared, own, other) = (entries("shared"), entries("own"), entries("other"));
    let mut backwards = [shared.clone(), other].concat();
    backwards.reverse();
    let forwards = [shared, own].concat();
    let (one, two) = tokio::join!(store.fold_clicks(&forwards), store.fold_clicks(&backwards));
    assert_eq!(one.unwrap() + two.unwrap(), 60);
    let (a, b) = (counted(store, "crowd-a").await.1.0, counted(store, "crowd-b").await.1.0);
    assert_eq!(a + b, 60);
    assert!(a > 0 && b > 0);
}

pub(super) async fn deleted_link_has_no_clicks(store: &Writer) {
    let link = make(store, Some("unclicked"), "https://clicks.example/").await.unwrap();
    let day = today(store);
    store.fold_clicks(&[delta("three/1", "unclicked", day, 5, 0)]).await.unwrap();
    assert!(delete(store, &link.code, None).await.unwrap());
    make(store, Some("unclicked"), "https://clicks.example/again").await.unwrap();
    assert_eq!(counted(store, "unclicked").await.1, (0, 0));
    assert!(delete(store, &link.code, None).await.unwrap());
}
