//! Entries that the codec cannot decode, and values that do not decode to themselves.

use crate::cache::reads::db::Db;
use crate::cache::reads::rig::{Rig, Rows, find, get, some};
use crate::log::Log;
use evenkeel::Keel;
use evenkeel::cache::{Cache, Freshness, Tier};
use evenkeel::codec::Codec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;
use std::time::Duration;

on_both! {
    undecodable_entry_is_replaced_by_one_load
    undecodable_entry_of_the_last_second_is_kept
    undecodable_entries_are_logged_once_a_minute
    value_that_does_not_decode_is_not_stored
    codec_ids_reserved_for_evenkeel_are_rejected
}

/// A program that keeps numbers in the cache `row`, under the same codec and schema number.
async fn numbers(rig: &Rig, keys: Range<u64>) -> Cache<u64, u64> {
    let numbers = rig.process().await.cache("row").ttl(Duration::from_secs(600)).ttl_jitter(0.0).open().await.unwrap();
    for key in keys {
        number(&numbers, key).await;
    }
    numbers
}

async fn number(numbers: &Cache<u64, u64>, key: u64) -> Tier {
    let load = |_: &u64| async { Ok::<_, Infallible>(Some(5)) };
    numbers.get_with(&key, Freshness::Eventual, load).await.unwrap().tier
}

// shows: hazard A34, spec/cache.md
async fn undecodable_entry_is_replaced_by_one_load(rig: Rig) {
    let _numbers = numbers(&rig, 1..3).await;
    rig.advance(Duration::from_secs(2)).await;
    let (rows, near) = (rig.rows().await, rig.rows_with(|builder| builder.near(100)).await);
    let db = Db::with("a");
    db.write(2, "b");
    assert_eq!(get(&rows, &db).await, some("a"));
    for rows in [&rows, &near] {
        assert_eq!(find(rows, &db).await.unwrap().tier, Tier::Store);
    }
    near.get_many(&[1, 2], |missing| db.find_many(missing)).await.unwrap();
    let found = rows.get_many(&[1, 2], |missing| db.find_many(missing)).await.unwrap();
    assert_eq!((found[&1].as_deref().cloned(), found[&2].as_deref().cloned()), (some("a"), some("b")));
    assert_eq!(db.loads(), 2, "one of each row");
}

/// Two programs of one schema number that cannot read each other's values do not replace them at every read.
// shows: hazard A34, spec/cache.md
async fn undecodable_entry_of_the_last_second_is_kept(rig: Rig) {
    let numbers = numbers(&rig, 1..2).await;
    let (rows, db) = (rig.rows().await, Db::with("a"));
    for _ in 0..3 {
        assert_eq!(find(&rows, &db).await.unwrap().tier, Tier::Loader);
        assert_eq!(number(&numbers, 1).await, Tier::Store);
    }
}

// shows: hazard A34
async fn undecodable_entries_are_logged_once_a_minute(rig: Rig) {
    let _numbers = numbers(&rig, 0..20).await;
    let (rows, db, log) = (rig.rows().await, Db::new(), Log::begin());
    let read_all = async |rows: &Rows| {
        for key in 0..20 {
            assert_eq!(rows.get(&key, |key| db.find(*key)).await.unwrap(), None);
        }
    };
    read_all(&rows).await;
    log.says(&["key=0 reads=1 "]);
    rig.advance(Duration::from_secs(61)).await;
    read_all(&rows).await;
    log.says(&["key=0 reads=1 ", "key=0 reads=20 "]);
    read_all(&rows).await;
    assert_eq!(db.loads(), 40, "the second round replaced them");
}

/// It decodes to another value, or not at all.
#[derive(Clone, Serialize, Deserialize)]
struct Secret {
    #[serde(skip_serializing)]
    #[expect(dead_code, reason = "it only has to be there")]
    word: String,
}

// shows: hazard A35, spec/cache.md
async fn value_that_does_not_decode_is_not_stored(rig: Rig) {
    let (keel, log) = (rig.process().await, Log::begin());
    never_stored(&keel, "nan", f64::NAN).await;
    never_stored(&keel, "perhaps", Some(f64::INFINITY)).await;
    never_stored(&keel, "map", BTreeMap::from([((1, 2), 3)])).await;
    never_stored(&keel, "secret", Secret { word: "x".to_owned() }).await;
    let why = ["NaN or infinite", "NaN or infinite", "key must be a string", "cannot decode its own output"];
    log.says(&why);
}

/// The value is returned, its lease is released, and each read of it is a load.
async fn never_stored<V: Clone + Send + Sync + Serialize + DeserializeOwned + 'static>(
    keel: &Keel,
    name: &str,
    value: V,
) {
    let cache = keel.cache::<u64, V>(name).ttl(Duration::from_secs(600)).open().await.unwrap();
    for _ in 0..3 {
        let value = value.clone();
        let load = |_: &u64| async { Ok::<_, Infallible>(Some(value)) };
        let found = cache.get_with(&1, Freshness::Eventual, load).await.unwrap();
        assert_eq!((found.tier, found.value.is_some()), (Tier::Loader, true), "{name}");
    }
}

/// JSON under another number.
struct Own(u8);

impl Codec<String> for Own {
    fn id(&self) -> u8 {
        self.0
    }

    fn encode(&self, value: &String, out: &mut Vec<u8>) -> Result<(), evenkeel::codec::CodecError> {
        evenkeel::codec::Json.encode(value, out)
    }

    fn decode(&self, bytes: bytes::Bytes) -> Result<String, evenkeel::codec::CodecError> {
        evenkeel::codec::Json.decode(bytes)
    }
}

// shows: hazard A37
async fn codec_ids_reserved_for_evenkeel_are_rejected(rig: Rig) {
    let keel = rig.process().await;
    for (id, is_good) in [(0, false), (1, false), (63, false), (64, true), (127, true), (128, false), (255, false)] {
        let opened = keel.cache::<u64, String>("own").ttl(Duration::from_secs(600)).codec(Own(id)).open().await;
        let words = opened.err().map(|error| error.to_string());
        assert_eq!(words.is_none(), is_good, "{id}");
        assert!(words.is_none_or(|words| words.contains("64 to 127")), "{id}");
    }
}
