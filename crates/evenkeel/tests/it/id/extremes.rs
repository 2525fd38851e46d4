//! Every public parameter of ids at zero, one, its bounds, just above them, and at its largest: it is taken, or refused in a sentence. Nothing
//! wedges, panics or overflows, and both backends say the same.

use super::{EPOCH_MS, wide};
use crate::in_time;
use crate::rig::Fleet;
use crate::sql::databases::TestDatabase;
use evenkeel::id::Alphabet::{Base58, Base62};
use evenkeel::id::{Id, IdError, Layout, Shuffle, ShuffleKey, Snowflake, SnowflakeBuilder};
use std::ops::RangeInclusive;
use std::time::Duration;

on_both_with! {crate::rig::Fleet:
    extreme_settings_are_taken_or_refused
}

const DAY: Duration = Duration::from_secs(86_400);
const MS: Duration = Duration::from_millis(1);

/// What the settings of each row are, and whether they are possible.
fn settings(mut with: impl FnMut() -> SnowflakeBuilder) -> Vec<(String, bool, SnowflakeBuilder)> {
    let mut all = Vec::new();
    let nano = Duration::from_nanos(1);
    let spans = [Duration::ZERO, nano, MS, 99 * MS, 100 * MS, DAY, DAY + MS, DAY + nano, 3 * DAY, 3 * DAY + MS];
    for span in spans.into_iter().chain([Duration::from_millis(u64::MAX), Duration::MAX]) {
        let whole = span.subsec_nanos() % 1_000_000 == 0;
        let fits = |least: Duration, most: Duration| whole && (least..=most).contains(&span);
        // Each has a scope of its own: the first program decides the settings of a scope.
        all.push((format!("ahead {span:?}"), fits(100 * MS, DAY), with().lease(3 * DAY).ahead(span)));
        all.push((format!("margin {span:?}"), fits(Duration::ZERO, DAY), with().lease(3 * DAY).margin(span)));
        all.push((format!("lease {span:?}"), fits(5_000 * MS, 3 * DAY), with().lease(span)));
        all.push((format!("wait {span:?}"), true, with().wait(span)));
    }
    for lease in [4_999 * MS, 5_000 * MS] {
        all.push((format!("lease {lease:?}"), lease == 5_000 * MS, with().lease(lease)));
    }
    for (time, worker, sequence, fits) in [
        (0, 10, 12, false),
        (1, 0, 1, false),
        (41, 0, 1, true),
        (41, 10, 12, true),
        (42, 10, 12, false),
        (41, 11, 1, false),
        (41, 10, 0, false),
        (62, 0, 1, true),
        (255, 255, 255, false),
    ] {
        all.push((
            format!("{time}/{worker}/{sequence}"),
            fits,
            with().layout(Layout::new(time, worker, sequence).epoch_ms(EPOCH_MS)),
        ));
    }
    let layout = wide();
    for (tick, fits) in [(Duration::ZERO, false), (nano, false), (MS, true), (1_000 * MS, true), (1_001 * MS, false)] {
        all.push((format!("tick {tick:?}"), fits, with().layout(layout.tick(tick))));
    }
    // The stores' time is in November 2023.
    let start = 1_700_000_000_000;
    for (epoch, fits) in [(0, true), (1, true), (start, true), (start + 86_400_000, false), (u64::MAX, false)] {
        all.push((format!("epoch {epoch}"), fits, with().layout(layout.epoch_ms(epoch))));
    }
    all
}

// shows: id::SnowflakeBuilder::build, cdc::Capture::run
async fn extreme_settings_are_taken_or_refused(fleet: Fleet) {
    let keel = fleet.process().await;
    let mut number = 0;
    for (what, fits, builder) in settings(|| {
        number += 1;
        keel.snowflake(&format!("scope-{number}")).layout(wide())
    }) {
        check(&what, fits, builder.build().await).await;
    }
    let long = "x".repeat(65);
    for (name, fits) in
        [("", false), ("x", true), (&long[1..], true), (&long, false), ("a b", false), ("\0", false), ("é", false)]
    {
        check(name, fits, keel.snowflake(name).layout(wide()).build().await).await;
    }
}

async fn check(what: &str, fits: bool, built: Result<Snowflake, IdError>) {
    match built {
        Ok(ids) => {
            assert!(fits, "{what} was taken");
            assert!(ids.try_next().is_none() || what.contains("margin"), "{what}");
            assert!(ids.parts(Id::from(u64::MAX)).worker < 1_024, "{what}");
            ids.release().await.unwrap();
        }
        Err(IdError::Invalid(text)) => assert!(!fits && text.len() > 10, "{what}: {text}"),
        Err(error) => panic!("{what}: {error}"),
    }
}

/// The longest wait ends with the id.
#[tokio::test]
async fn extreme_wait_ends_with_the_id() {
    in_time(async {
        let fleet = Fleet::memory();
        let keel = fleet.process().await;
        for wait in [Duration::from_secs(u64::MAX / 2), Duration::MAX] {
            let ids = keel.snowflake("orders").layout(wide()).wait(wait).build().await.unwrap();
            assert!(fleet.while_time_passes(ids.next()).await.is_ok());
        }
    })
    .await;
}

// shows: I6
#[test]
fn extreme_numbers_have_texts_and_images() {
    let numbers = [0, 1, 57, 58, 61, 62, 1 << 53, (1 << 53) + 1, u64::MAX - 1, u64::MAX];
    for number in numbers {
        for alphabet in [Base62, Base58] {
            let text = alphabet.encode(number);
            assert_eq!(alphabet.decode(&text), Some(number));
            for width in [0, 1, 11, 12, u8::MAX] {
                let padded = alphabet.encode_padded(number, width);
                assert_eq!(
                    padded.and_then(|text| alphabet.decode_padded(&text, width)).is_some(),
                    usize::from(width) >= text.len()
                );
            }
        }
        for limit in numbers {
            let shuffle = Shuffle::new(ShuffleKey::from([0; 32]), limit);
            let image = shuffle.apply(number);
            assert_eq!(image.is_some(), number < limit);
            assert_eq!(image.and_then(|image| shuffle.invert(image)).is_some(), number < limit);
            assert_eq!(shuffle.invert(u64::MAX), None);
        }
        assert_eq!(Layout::default().parts(number).sequence, number & 4_095);
    }
    assert_eq!((Base62.numbers(0), Base62.numbers(1), Base58.numbers(u8::MAX)), (Some(1), Some(62), None));
    for text in ["", "\0", "0O", &"1".repeat(1 << 20)] {
        assert_eq!(Base58.decode(text), None);
        assert_eq!(Base58.decode_padded(text, u8::MAX), None);
    }
}

/// Sizes of blocks and names of sequences, and the shortest and longest waits.
// shows: id::SegmentsBuilder::open
#[tokio::test]
async fn extreme_settings_of_sequences_are_taken_or_refused() {
    in_time(async {
        let keel = evenkeel::Keel::memory();
        let database = TestDatabase::<sqlx::Sqlite>::open().await;
        let most = 1 << 20;
        for (counts, fits) in [
            (0..=0, false),
            (0..=1, false),
            (1..=1, true),
            (RangeInclusive::new(2, 1), false),
            (most..=most, true),
            (1..=most + 1, false),
            (1..=u64::MAX, false),
            (u64::MAX..=u64::MAX, false),
        ] {
            let opened = keel.segments("invoices").step(counts.clone()).open(&database.pool);
            assert_eq!(opened.is_ok(), fits, "{counts:?}");
            let Ok(segments) = opened else { continue };
            assert!(segments.next().await.unwrap() < segments.next().await.unwrap());
        }
        let long = "x".repeat(65);
        for (name, fits) in
            [("", false), ("x", true), (&long[1..], true), (&long, false), ("a b", false), ("\0", false)]
        {
            assert_eq!(keel.segments(name).open(&database.pool).is_ok(), fits, "{name:?}");
        }
        for wait in [Duration::ZERO, MS, Duration::MAX] {
            let segments = keel.segments("waits").wait(wait).open(&database.pool).unwrap();
            let first = segments.next().await;
            assert!(first.is_ok() || wait <= MS, "{first:?}");
        }
    })
    .await;
}
