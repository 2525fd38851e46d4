//! Every public parameter of a limit at zero, one, its bounds, just above them, and at its largest: it is taken, or refused in a sentence.

use evenkeel::Keel;
use evenkeel::limit::{Limit, LimitError, Quota, Rate, Window};
use evenkeel::testing::TestClock;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const MONTH: Duration = Duration::from_secs(31 * 86_400);
const HOUR: Duration = Duration::from_secs(3_600);

fn names() -> Vec<(String, bool)> {
    let sizes = [(0, false), (1, true), (64, true), (65, false), (1 << 20, false)];
    let sizes = sizes.map(|(size, is_good)| ("x".repeat(size), is_good));
    let odd = ["\0", "}", "a b", "a:b", "\u{1f980}", "a\r\n"].map(|name| (name.to_owned(), false));
    sizes.into_iter().chain(odd).chain([("a-b_c.9".to_owned(), true)]).collect()
}

fn is_one_sentence(error: &LimitError) {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains('\n') && text.len() < 600, "{text}");
    assert!(!error.is_retryable() && !error.outcome_unknown());
}

/// A program whose time does not pass.
fn program() -> Keel {
    Keel::builder().clock(TestClock::default().clock()).memory()
}

async fn open(name: &str, level: &str, quota: impl Into<Quota>) -> Result<Limit, LimitError> {
    program().limit(name).level(level, quota).open().await
}

// shows: limit::LimitBuilder::open
#[tokio::test]
async fn extreme_names_are_taken_or_refused() {
    for (name, is_good) in names() {
        for opened in
            [open(&name, "level", Rate::new(1, SECOND)).await, open("limit", &name, Rate::new(1, SECOND)).await]
        {
            assert_eq!(opened.is_ok(), is_good, "{name:?}");
            _ = opened.map_err(|error| is_one_sentence(&error));
        }
    }
    let keel = program();
    for (levels, is_good) in [(0, false), (1, true), (8, true), (9, false)] {
        let limit =
            (0..levels).fold(keel.limit("many"), |limit, place| limit.level(&place.to_string(), Rate::new(1, SECOND)));
        let opened = limit.open().await;
        assert_eq!(opened.is_ok(), is_good, "{levels} levels");
        _ = opened.map_err(|error| is_one_sentence(&error));
    }
    let twice = keel.limit("twice").level("a", Rate::new(1, SECOND)).level("a", Window::new(1, SECOND)).open().await;
    is_one_sentence(&twice.unwrap_err());
}

// shows: limit::LimitBuilder::open
#[tokio::test]
async fn extreme_quotas_are_taken_or_refused() {
    let periods = [Duration::ZERO, Duration::from_nanos(1), MS, 10 * MS, SECOND, MONTH, MONTH + MS, Duration::MAX];
    for tokens in [0, 1, 2, 999_983, 1_000_000, 1_000_001, u32::MAX] {
        for period in periods {
            let is_usual = (1..=1_000_000).contains(&tokens) && (MS..=MONTH).contains(&period);
            let window = open("limit", "level", Window::new(tokens, period)).await;
            assert_eq!(window.is_ok(), is_usual && period != MS, "window {tokens} {period:?}");
            for burst in [0, 1, 2, 1_000_000, 1_000_001, u32::MAX] {
                let opened = open("limit", "level", Rate::new(tokens, period).burst(burst)).await;
                match opened {
                    Err(error) => is_one_sentence(&error),
                    // It works at both of its ends.
                    Ok(limit) => {
                        assert!(is_usual && (1..=1_000_000).contains(&burst), "rate {tokens} {period:?} {burst}");
                        assert!(limit.check_n(&["all"], burst).await.unwrap().is_admitted());
                        assert!(!limit.check_n(&["all"], 1).await.unwrap().is_admitted());
                        assert!(limit.check_n(&["one"], 1).await.unwrap().is_admitted());
                    }
                }
            }
            for instances in [0, 1, 2, 1_000, u32::MAX] {
                for quota in [Quota::from(Rate::new(tokens, period)), Quota::from(Window::new(tokens, period))] {
                    assert!(quota.share(instances).tokens_at_once() <= quota.tokens_at_once().max(1));
                }
            }
        }
    }
}

// shows: limit::Limit::check, limit::Limit::check_n, limit::Limit::acquire, limit::Limit::acquire_n
#[tokio::test]
async fn extreme_calls_are_decided_or_refused() {
    let limit =
        program().limit("api").level("tenant", Rate::new(1, SECOND).burst(5)).level("key", Window::new(3, SECOND));
    let limit = limit.open().await.unwrap();
    for (size, is_good) in [(0, false), (1, true), (256, true), (257, false), (1 << 20, false)] {
        let subject = "}".repeat(size);
        for subjects in [[&*subject, "key"], ["acme", &*subject]] {
            for decided in [limit.check(&subjects).await, limit.acquire(&subjects, Duration::ZERO).await] {
                assert_eq!(decided.is_ok(), is_good, "a subject of {size} bytes");
                _ = decided.map_err(|error| is_one_sentence(&error));
            }
        }
    }
    let others: [&[&str]; 3] = [&[], &["acme"], &["acme", "key", "user"]];
    for subjects in others {
        is_one_sentence(&limit.check(subjects).await.unwrap_err());
    }
    for (tokens, is_good) in [(0, false), (1, true), (3, true), (4, false), (u32::MAX, false)] {
        let subject = format!("tokens {tokens}");
        let subjects = [&*subject, "key"];
        for decided in
            [limit.check_n(&subjects, tokens).await, limit.acquire_n(&subjects, tokens, Duration::ZERO).await]
        {
            assert_eq!(decided.is_ok(), is_good, "{tokens} tokens");
            _ = decided.map_err(|error| is_one_sentence(&error));
        }
    }
    let waits = [(Duration::ZERO, true), (MS, true), (HOUR, true), (HOUR + MS, false), (Duration::MAX, false)];
    for (number, (wait, is_good)) in waits.into_iter().enumerate() {
        let decided = limit.acquire(&[&format!("wait {number}"), "key"], wait).await;
        assert_eq!(decided.is_ok(), is_good, "{wait:?}");
        _ = decided.map_err(|error| is_one_sentence(&error));
    }
}
