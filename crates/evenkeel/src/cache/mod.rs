//! A fenced cache: an invalidation beats every load that began before it.
//!
//! Open one [`Cache`] per kind of row, read through it, and invalidate after each commit:
//!
//! ```
//! use evenkeel::Keel;
//! use std::collections::HashMap;
//! use std::convert::Infallible;
//! use std::sync::{Arc, Mutex};
//! use std::time::Duration;
//!
//! #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
//! struct User {
//!     name: String,
//! }
//!
//! /// Stands for your database.
//! #[derive(Clone, Default)]
//! struct Db(Arc<Mutex<HashMap<u64, User>>>);
//!
//! impl Db {
//!     // The future owns what it needs, as one of a clone of a connection pool does: it may outlive the reader that wanted it.
//!     fn find_user(&self, id: u64) -> impl Future<Output = Result<Option<User>, Infallible>> + Send + use<> {
//!         let db = self.clone();
//!         async move { Ok(db.0.lock().unwrap().get(&id).cloned()) }
//!     }
//!     fn rename(&self, id: u64, name: &str) {
//!         self.0.lock().unwrap().insert(id, User { name: name.to_owned() });
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), evenkeel::cache::CacheError> {
//! let db = Db::default();
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let users = keel.cache::<u64, User>("user").ttl(Duration::from_secs(600)).build()?;
//!
//! // Nobody is called 42 yet. That is cached, too.
//! assert_eq!(users.get(&42, |id| db.find_user(*id)).await?, None);
//!
//! db.rename(42, "Ada"); // commit, then:
//! users.invalidate(&42).await?;
//!
//! let user: Option<Arc<User>> = users.get(&42, |id| db.find_user(*id)).await?;
//! assert_eq!(user.unwrap().name, "Ada");
//! # Ok(())
//! # }
//! ```
//!
//! What happens in between is the protocol of [`steps`]; docs/spec/cache.md tells it in words. In this folder, from the
//! outside in: `cache` and `builder` are the surface; `look` and `want` decide about what a read found; `load`, `flight`, `loader`,
//! `fill` and `admission` are a load from its beginning to its end; `ledger`, `redrive` and `deferral` see to it that
//! invalidations happen; `hub` is what the caches of a keel share (one listener, one hook, one loop, the `driver`); `tracker` hears what the
//! store tells, `near` keeps what is right by it, and `news` waits for it; `store` is the seam to `redis` and `memory`.

mod admission;
mod batch;
mod breaker;
mod builder;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod cache;
mod core;
mod deferral;
mod driver;
mod error;
mod fill;
mod flight;
#[cfg(feature = "sql")]
mod for_work;
mod found;
mod freshness;
#[cfg(feature = "testing")]
mod gate;
pub mod header;
mod hub;
mod interests;
mod key;
pub mod keys;
mod ledger;
mod load;
mod loader;
mod log_limit;
mod look;
mod many;
pub mod memory;
mod metrics;
mod near;
mod news;
mod on_replicas;
mod payload;
mod protocol;
pub mod redis;
mod redrive;
mod registry;
mod settings;
pub mod steps;
mod store;
mod switches;
mod tracker;
mod unreadable;
mod user_code;
mod waiters;
mod want;
mod window;
mod write;

pub use builder::CacheBuilder;
pub use cache::{Cache, Invalidated};
pub use error::CacheError;
#[cfg(feature = "sql")]
pub(crate) use for_work::CacheOfWork;
pub use found::{Found, Stale, Tier};
pub use freshness::{Freshness, Source, WhileWriting};
#[cfg(feature = "testing")]
pub use gate::{Held, Side, Step, StepGate};
pub use key::{CacheKey, KeyWriter, key_text};
#[cfg(feature = "sql")]
pub(crate) use ledger::Demand;
pub use many::Incomplete;
pub use protocol::Protocol;
pub(crate) use protocol::scripts as protocol_scripts;
pub(crate) use registry::Caches;
pub use settings::AfterWait;
pub use window::{OpenWindow, WindowEnd, WriteWindow};
pub use write::{WriteError, Written};
