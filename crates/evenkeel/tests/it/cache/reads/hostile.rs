//! User code that misbehaves: codec, loader, batch loader, key, version, weight and the closure of a write each panic, hang, block their
//! thread, or are dropped. Other keys are served in the meantime, and so is the next read of the same key.

use super::rig::{Rig, in_time};
use crate::blocks::{block, block_again, unblock};
use evenkeel::cache::{Cache, CacheBuilder, CacheError, CacheKey, Freshness, KeyWriter, Tier};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Each story on both backends, with several threads, because some code blocks its thread.
macro_rules! on_threads {
    ($($story:ident)+) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $story() {
                super::in_time(super::$story(super::Rig::memory())).await;
            })+
        }

        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $story() {
                super::in_time(super::$story(super::Rig::redis().await)).await;
            })+
        }
    };
}

on_threads! {
    panicking_codec_fails_only_the_fill
    entry_that_panics_the_decoder_is_reloaded
    blocking_codec_does_not_delay_other_keys
    panicking_version_or_weight_affects_only_its_value
    misbehaving_loader_fails_only_its_key
    misbehaving_batch_loader_fails_only_its_batch
    panicking_key_fails_only_its_call
    misbehaving_write_closes_only_its_window
}

/// A value that may panic or block its thread when it is encoded, and when it is decoded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Body(pub(super) String);

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        assert_ne!(self.0, "encode panics", "on purpose");
        if self.0 == "encode blocks" {
            block();
        }
        self.0.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        assert_ne!(text, "decode panics", "on purpose");
        if text == "decode blocks" {
            block();
        }
        Ok(Self(text))
    }
}

pub(super) type Bodies = Cache<str, Body>;

pub(super) async fn bodies(
    rig: &Rig,
    change: impl FnOnce(CacheBuilder<str, Body>) -> CacheBuilder<str, Body>,
) -> Bodies {
    let builder = rig.process().await.cache("body").ttl(Duration::from_secs(600)).ttl_jitter(0.0);
    change(builder.store_timeout(Duration::from_secs(10))).open().await.unwrap()
}

/// A read whose loader returns the key itself.
pub(super) async fn find(bodies: &Bodies, key: &str) -> Result<Tier, CacheError> {
    let found = bodies.get_with(key, Freshness::Eventual, |key| {
        let body = Body(key.to_owned());
        async { Ok::<_, Infallible>(Some(body)) }
    });
    let found = found.await?;
    assert_eq!(found.value.as_deref(), Some(&Body(key.to_owned())));
    Ok(found.tier)
}

/// Another key of the cache is loaded, stored, found and invalidated.
async fn assert_other_keys_are_served(bodies: &Bodies) {
    bodies.invalidate("fine").await.unwrap();
    assert_eq!(find(bodies, "fine").await.unwrap(), Tier::Loader);
    assert_ne!(find(bodies, "fine").await.unwrap(), Tier::Loader);
    let written = bodies.write("fine", || async { Ok::<_, Infallible>(()) }).await.unwrap();
    assert!(written.window.is_closed());
}

// shows: hazard A39
async fn panicking_codec_fails_only_the_fill(rig: Rig) {
    let bodies = bodies(&rig, |builder| builder.near(100)).await;
    for key in ["encode panics", "decode panics"] {
        for _ in 0..3 {
            assert_eq!(find(&bodies, key).await.unwrap(), Tier::Loader, "{key}");
        }
        assert_other_keys_are_served(&bodies).await;
    }
}

/// A load, whose fill encodes and decodes, and a hit, which decodes.
// shows: hazard A39
async fn blocking_codec_does_not_delay_other_keys(rig: Rig) {
    let bodies = bodies(&rig, |builder| builder).await;
    for key in ["encode blocks", "decode blocks"] {
        for expected in [Tier::Loader, Tier::Store] {
            block_again();
            let own = bodies.clone();
            let blocked = tokio::spawn(async move { find(&own, key).await });
            assert_other_keys_are_served(&bodies).await;
            unblock();
            assert_eq!(blocked.await.unwrap().unwrap(), expected, "{key}");
            bodies.until_idle().await;
        }
    }
}

/// Another program, whose type does not panic, has stored it.
// shows: hazard A39
async fn entry_that_panics_the_decoder_is_reloaded(rig: Rig) {
    let texts = rig.process().await.cache::<str, String>("body").ttl(Duration::from_secs(600)).open().await.unwrap();
    let load = |_: &str| async { Ok::<_, Infallible>(Some("decode panics".to_owned())) };
    texts.get("fine", load).await.unwrap();
    let bodies = bodies(&rig, |builder| builder).await;
    assert_eq!(find(&bodies, "fine").await.unwrap(), Tier::Loader);
    rig.advance(Duration::from_secs(2)).await;
    assert_eq!(find(&bodies, "fine").await.unwrap(), Tier::Loader);
    assert_eq!(find(&bodies, "fine").await.unwrap(), Tier::Store, "it was replaced");
}

// shows: hazard A39, spec/cache.md
async fn panicking_version_or_weight_affects_only_its_value(rig: Rig) {
    let version = |body: &Body| if body.0 == "version panics" { panic!("on purpose") } else { 1 };
    let weight = |body: &Body| if body.0 == "weight panics" { panic!("on purpose") } else { 1 };
    let bodies = bodies(&rig, |builder| builder.version(version).near_bytes(1 << 20).near_weight(weight)).await;
    let error = find(&bodies, "version panics").await.unwrap_err();
    assert!(matches!(&error, CacheError::LoaderPanicked(words) if &**words == "on purpose"), "{error}");
    let rows = rig.rows_with(|builder| builder.version(|row| if row == "1" { panic!("on purpose") } else { 1 })).await;
    let load = |keys: Vec<u64>| async { Ok::<_, Infallible>(keys.into_iter().map(|key| (key, key.to_string()))) };
    let batch = rows.get_many(&[1, 2], load).await.unwrap_err();
    assert_eq!(batch.found.keys().collect::<Vec<_>>(), [&2]);
    assert!(matches!(batch.failed[&1], CacheError::LoaderPanicked(_)));
    for tier in [Tier::Loader, Tier::Store, Tier::Store, Tier::Store] {
        assert_eq!(find(&bodies, "weight panics").await.unwrap(), tier);
    }
    assert_other_keys_are_served(&bodies).await;
}

pub(super) async fn load(key: String) -> Result<Option<Body>, Infallible> {
    match key.as_str() {
        "loader panics" => panic!("on purpose"),
        "loader hangs" => pending().await,
        "loader blocks" => block(),
        _ => {}
    }
    Ok(Some(Body(key)))
}

fn reader(bodies: &Bodies, key: &'static str) -> JoinHandle<Result<bool, CacheError>> {
    let bodies = bodies.clone();
    tokio::spawn(async move {
        let read = bodies.get(key, |key| {
            assert_ne!(key, "loader panics at once", "on purpose");
            load(key.to_owned())
        });
        Ok(read.await?.is_some())
    })
}

// shows: hazard A39
async fn misbehaving_loader_fails_only_its_key(rig: Rig) {
    let bodies = bodies(&rig, |builder| builder.load_timeout(Duration::from_secs(3))).await;
    let (hangs, blocks) = (reader(&bodies, "loader hangs"), reader(&bodies, "loader blocks"));
    let at_once = reader(&bodies, "loader panics at once").await;
    assert!(at_once.unwrap_err().is_panic());
    let panics = reader(&bodies, "loader panics").await.unwrap().unwrap_err();
    assert!(matches!(&panics, CacheError::LoaderPanicked(words) if &**words == "on purpose"), "{panics}");
    assert_other_keys_are_served(&bodies).await;
    unblock();
    assert!(blocks.await.unwrap().unwrap());
    let hung = rig.while_time_passes(hangs).await.unwrap().unwrap_err();
    assert!(matches!(hung, CacheError::LoaderTimedOut { .. }), "{hung}");
    // The caller is dropped, and its load continues for the waiters; the next reader of any of these keys is served.
    reader(&bodies, "dropped").abort();
    rig.advance(Duration::from_secs(1)).await;
    for key in ["loader hangs", "loader blocks", "loader panics at once", "loader panics", "dropped"] {
        bodies.invalidate(key).await.unwrap();
        rig.while_time_passes(find(&bodies, key)).await.unwrap();
    }
}

// shows: hazard A39
async fn misbehaving_batch_loader_fails_only_its_batch(rig: Rig) {
    let rows = rig.rows_with(|builder| builder.load_timeout(Duration::from_secs(3))).await;
    let read = |way: &'static str| {
        let rows = rows.clone();
        tokio::spawn(async move {
            let answer = rows.get_many(&[1, 2], |keys| {
                assert_ne!(way, "panics at once", "on purpose");
                async move {
                    match way {
                        "panics" => panic!("on purpose"),
                        "hangs" => pending().await,
                        _ => {}
                    }
                    // Rows that were not requested, and one twice.
                    let rows = keys.into_iter().chain([1, 77, 78]).map(|key| (key, key.to_string()));
                    Ok::<_, Infallible>(rows.collect::<Vec<_>>())
                }
            });
            answer.await.map(|found| found.len()).map_err(CacheError::from)
        })
    };
    assert!(read("panics at once").await.unwrap_err().is_panic());
    rig.advance(Duration::from_secs(1)).await;
    for way in ["panics", "hangs"] {
        let error = rig.while_time_passes(read(way)).await.unwrap().unwrap_err();
        let fits = matches!(error, CacheError::LoaderPanicked(_) | CacheError::LoaderTimedOut { .. });
        assert!(fits, "{way}: {error}");
        rig.advance(Duration::from_secs(1)).await;
    }
    assert_eq!(read("well").await.unwrap().unwrap(), 2);
}

/// A key that panics when it is encoded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key(&'static str);

impl CacheKey for Key {
    fn write(&self, to: &mut KeyWriter) {
        assert_ne!(self.0, "key panics", "on purpose");
        to.text(self.0);
    }
}

// shows: hazard A39
async fn panicking_key_fails_only_its_call(rig: Rig) {
    let keyed = rig.process().await.cache::<Key, String>("keyed").ttl(Duration::from_secs(600)).open().await.unwrap();
    let bad = Key("key panics");
    let one = keyed.clone();
    let single = tokio::spawn(async move { one.get(&bad, |_| async { Ok::<_, Infallible>(None) }).await.is_ok() });
    assert!(single.await.unwrap_err().is_panic());
    let other = keyed.clone();
    let invalidation = tokio::spawn(async move { other.invalidate(&Key("key panics")).await.is_ok() });
    assert!(invalidation.await.unwrap_err().is_panic());
    let rows = || async { Ok::<_, Infallible>(vec![(Key("key panics"), String::new())]) };
    let error: CacheError = keyed.get_many(&[Key("fine")], |_| rows()).await.unwrap_err().into();
    assert!(matches!(error, CacheError::LoaderPanicked(_)), "{error}");
    rig.advance(Duration::from_secs(1)).await;
    let fine = keyed.get(&Key("fine"), |_| async { Ok::<_, Infallible>(Some("a".to_owned())) }).await;
    assert_eq!(fine.unwrap().as_deref().map(String::as_str), Some("a"));
}

// shows: hazard A39
async fn misbehaving_write_closes_only_its_window(rig: Rig) {
    let bodies = bodies(&rig, |builder| builder).await;
    let write = |key: &'static str| {
        let bodies = bodies.clone();
        tokio::spawn(async move {
            let written = bodies.write(key, || async move {
                match key {
                    "write panics" => panic!("on purpose"),
                    "write hangs" => pending().await,
                    _ => {}
                }
                Ok::<_, Infallible>(())
            });
            written.await.is_ok()
        })
    };
    let hangs = write("write hangs");
    assert!(write("write panics").await.unwrap_err().is_panic());
    assert_other_keys_are_served(&bodies).await;
    hangs.abort();
    for key in ["write panics", "write hangs"] {
        rig.while_time_passes(find(&bodies, key)).await.unwrap();
        let again = bodies.write(key, || async { Ok::<_, Infallible>(()) }).await.unwrap();
        assert!(again.window.is_closed(), "{key}");
    }
}
