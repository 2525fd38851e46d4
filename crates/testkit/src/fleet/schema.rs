//! Instances that create or upgrade the schema of one database at the same time.

use super::{Fate, Fleet};
use crate::park::{self, mariadb_database, postgres_database, sqlite_database};
use crate::schema::{described, make_older_library};
use anyhow::{Context, Result, ensure};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::future::Future;
use std::ops::Range;
use std::path::PathBuf;

/// Number of instances.
const INSTANCES: usize = 10;

/// A service that creates and upgrades the schema of its database when it starts.
pub trait SchemaOwner {
    /// The version of the library's tables in an older database.
    const OLDER_LIBRARY: usize;

    /// Path of the program.
    fn program(&self) -> PathBuf;

    /// Creates the older schema of the service in the empty database at `url`.
    fn create_older(&self, url: &str) -> impl Future<Output = Result<()>>;

    /// Checks that the schema is complete and that the data of an older database is still there.
    fn check(&self, url: &str, is_older: bool) -> impl Future<Output = Result<()>>;

    /// Instances on the database at `url`.
    fn fleet(&self, url: &str) -> Fleet {
        // Instances on one SQLite file share the data folder, and only one of them serves it.
        let shares_data = url.starts_with("sqlite");
        Fleet { program: self.program(), arguments: vec!["--database".to_owned(), url.to_owned()], shares_data }
    }

    /// An empty database, or one with the older schema. `kind` is `sqlite`, `mariadb` or `postgres`.
    fn database(&self, kind: &str, is_older: bool) -> impl Future<Output = Result<park::Database>> {
        async move {
            let database = match kind {
                "sqlite" => sqlite_database()?,
                "mariadb" => mariadb_database().await?,
                _ => postgres_database().await?,
            };
            if is_older {
                self.create_older(&database.url).await?;
                make_older_library(&database.url, Self::OLDER_LIBRARY).await?;
            }
            Ok(database)
        }
    }

    /// The schema that a single instance creates.
    fn expected_schema(&self, kind: &str, is_older: bool) -> impl Future<Output = Result<Vec<String>>> {
        async move {
            let database = self.database(kind, is_older).await?;
            let folder = tempfile::tempdir()?;
            self.fleet(&database.url).start(folder.path(), &[Fate::Listens]).await?;
            described(&database.url).await
        }
    }
}

/// Starts ten instances at the same time, every other one with a crash point in a step of the migrations. Only the instance that runs
/// the migrations reaches its crash point.
///
/// # Errors
/// An instance does not listen, or the schema differs from the one of a single instance.
pub async fn started_at_once(service: &impl SchemaOwner, kind: &str, is_older: bool) -> Result<()> {
    let database = service.database(kind, is_older).await?;
    let crash = |at: usize| Fate::CrashesAt(format!("migration_step:{}", at + 1));
    let fates = (0..INSTANCES).map(|at| if at.is_multiple_of(2) { crash(at) } else { Fate::Listens });
    let folder = tempfile::tempdir()?;
    service.fleet(&database.url).start(folder.path(), &fates.collect::<Vec<_>>()).await?;
    let expected = service.expected_schema(kind, is_older).await?;
    let found = described(&database.url).await?;
    ensure!(found == expected, "the schema is {found:#?}, expected {expected:#?}");
    service.check(&database.url, is_older).await
}

/// For each seed, kills some instances at random times, on an empty and an older database in turns, and starts one more. On SQLite,
/// where one instance serves the file, all but the last are killed.
///
/// # Errors
/// An instance does not listen, or the schema differs from the one of a single instance.
pub async fn killed_at_random(service: &impl SchemaOwner, kind: &str, seeds: Range<u64>) -> Result<()> {
    let expected = [service.expected_schema(kind, false).await?, service.expected_schema(kind, true).await?];
    for seed in seeds {
        let is_older = seed % 2 == 1;
        let database = service.database(kind, is_older).await?;
        let mut fates = Fate::half_killed(&mut StdRng::seed_from_u64(seed));
        if kind == "sqlite" {
            fates.retain(|fate| *fate != Fate::Listens);
        }
        let folder = tempfile::tempdir()?;
        let fleet = service.fleet(&database.url);
        drop(fleet.start(folder.path(), &fates).await.with_context(|| format!("seed {seed}"))?);
        let last = fleet.start(folder.path(), &[Fate::Listens]).await;
        drop(last.with_context(|| format!("seed {seed}"))?);
        let (found, expected) = (described(&database.url).await?, &expected[usize::from(is_older)]);
        ensure!(found == *expected, "seed {seed}: the schema is {found:#?}, expected {expected:#?}");
        service.check(&database.url, is_older).await.with_context(|| format!("seed {seed}"))?;
    }
    Ok(())
}
