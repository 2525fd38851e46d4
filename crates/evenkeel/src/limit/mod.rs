//! Rate limits that all instances of a program share.
//!
//! A limit has one or more levels, such as a tenant and a key of that tenant. Each has a quota: a [`Rate`] with a burst, or a sliding
//! [`Window`]. A call takes tokens of every level, or of none:
//!
//! ```
//! use evenkeel::Keel;
//! use evenkeel::limit::{Decision, Rate, Window, WithoutRedis};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keel = Keel::memory(); // or Keel::connect("redis://127.0.0.1").await?
//! let api = keel
//!     .limit("api")
//!     .level("tenant", Rate::new(100, Duration::from_secs(1)).burst(200))
//!     .level("key", Window::new(2, Duration::from_secs(60)))
//!     .without_redis(WithoutRedis::Local)
//!     .open()
//!     .await?;
//!
//! for _ in 0..2 {
//!     assert!(api.check(&["acme", "key-7"]).await?.is_admitted());
//! }
//! if let Decision::Refused(refused) = api.check(&["acme", "key-7"]).await? {
//!     assert_eq!(refused.level.as_deref(), Some("key")); // answer 429 Too Many Requests
//!     assert!(refused.retry_after <= Duration::from_secs(66)); // and Retry-After
//! }
//! assert!(api.check(&["acme", "key-8"]).await?.is_admitted());
//! # Ok(())
//! # }
//! ```
//!
//! * [`Limit`] — the handle: [`check`](Limit::check) decides at once, [`acquire`](Limit::acquire) reserves a place and waits for it.
//! * [`LimitBuilder`] — its levels, and what happens [without Redis](WithoutRedis).
//! * [`Decision`] — admitted or refused, when to try again, and who has decided.
//!
//! docs/spec/limit.md specifies the protocol; the crate `evenkeel-protocol` has its atomic steps, their model and their scripts. The modules of
//! this folder, in the order in which a call passes through them:
//!
//! * `limit.rs` and `settings/`: the handle, its builder, and the levels.
//! * `store/` gives access to the steps, and counts the instances.
//! * `fallback.rs` decides without Redis; `decision.rs` is what callers get.

mod decision;
mod fallback;
#[expect(clippy::module_inception, reason = "the file holds the type that the folder is named after")]
mod limit;
mod metrics;
mod settings;
mod store;

pub use decision::{Admitted, DecidedBy, Decision, Refused};
pub use evenkeel_protocol::limit::error::LimitError;
pub use evenkeel_protocol::limit::quota::{Quota, Rate, Window};
pub use limit::Limit;
pub use settings::WithoutRedis;
pub use settings::builder::LimitBuilder;
pub(crate) use store::Limits;
