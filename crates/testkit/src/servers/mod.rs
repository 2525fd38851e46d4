//! Real servers as child processes: on a free loopback port, in a temporary folder, killed with their parent.
//!
//! Each has the same methods: `start`, `url`, `port`, `pause` (SIGSTOP), `resume`, `kill` (SIGKILL), `restart` (same port,
//! same folder) and `log_tail`. They are tuned for speed, without fsync.
//!
//! An environment variable selects another version, with a command line that may begin with `chroot DIR`:
//!
//! | variable | default |
//! |---|---|
//! | `EVENKEEL_REDIS_SERVER` | `redis-server` |
//! | `EVENKEEL_MARIADB_SERVER` | `mariadbd` (`mysqld` works, too) |
//! | `EVENKEEL_NATS_SERVER` | `nats-server` |
//! | `EVENKEEL_POSTGRES_SERVER` | `postgres`, the newest under `/usr/lib/postgresql` if it is not on the `PATH` |

pub mod certificates;
mod instance;
pub(crate) mod mariadb;
mod nats;
mod port;
pub(crate) mod postgres;
mod program;
mod readiness;
mod redis;
mod template;
mod user;

pub(crate) use port::Port;
pub(crate) use program::Program;
pub(crate) use readiness::wait as until_ready;

pub use mariadb::{MariaDb, MariaDbOptions};
pub use nats::Nats;
pub use postgres::{Postgres, PostgresOptions};
pub use redis::{OldRedis, Redis, RedisOptions};
