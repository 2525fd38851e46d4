//! A fenced cache: an invalidation rejects the result of every load that began before it.
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
//! /// A stand-in for your database.
//! #[derive(Clone, Default)]
//! struct Db(Arc<Mutex<HashMap<u64, User>>>);
//!
//! impl Db {
//!     // The future owns its data, like one of a cloned connection pool: it may outlive the reader that started it.
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
//! let users = keel.cache::<u64, User>("user").ttl(Duration::from_secs(600)).open().await?;
//!
//! // The row 42 does not exist yet. Its absence is cached, too.
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
//! docs/spec/cache.md specifies the protocol. The crate `evenkeel-protocol` has its atomic steps, their model and their Lua
//! scripts. The folders of this module, in the order in which a read passes them:
//!
//! * `cache.rs` and `settings/`: the public handle, its builder, and the settings.
//! * `admin.rs`: the operator's handle, which looks at an entry and invalidates it. `open.rs`: access to caches by their name.
//! * `near/`: decoded values in this process, in front of the store.
//! * `reading/`: decides whether a stored value satisfies a read, and waits for loads of other processes.
//! * `loading/`: a single-flight load, from its lease to the fill of its entry.
//! * `writing/`: invalidations and update windows, and the replay of failed invalidations.
//! * `store/`: calls the protocol steps; the circuit breaker, change notifications, state shared by the caches of one keel, and the
//!   seam for other protocols.

pub mod admin;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod cache;
mod core;
#[cfg(feature = "sql")]
mod for_work;
mod key;
mod key_of;
mod loading;
mod metrics;
mod near;
mod open;
mod reading;
mod settings;
pub(crate) mod store;
mod writing;

pub use cache::Cache;
pub use evenkeel_protocol::cache::error::CacheError;
#[cfg(feature = "sql")]
pub(crate) use for_work::CacheOfWork;
pub use key::{CacheKey, KeyWriter, key_text};
pub use key_of::KeyOf;
pub use reading::found::{Found, Stale, Tier};
pub use reading::many::Incomplete;
pub use settings::AfterWait;
pub use settings::builder::CacheBuilder;
#[cfg(feature = "sql")]
pub(crate) use settings::checks::{check_name, check_span, keys_named};
pub use settings::freshness::{Freshness, Source, WhileWriting};
pub use store::protocol::{CacheProtocol, ProtocolContext, ProtocolStore};
pub(crate) use store::registry::Caches;
pub use writing::invalidate::Invalidated;
#[cfg(feature = "sql")]
pub(crate) use writing::ledger::Demand;
pub use writing::window::{OpenWindow, WindowEnd, WriteWindow};
pub use writing::write::{WriteError, Written};
