//! oxide-outbox over the same PostgreSQL, asked over standard input: a question is one JSON object a line, the answer one number,
//! operations a second (`bench/src/outbox/`).
//!
//! Its table is made as its migration says, with the trigger that wakes its worker. The transport takes every event and counts it.

use anyhow::{Context, Result, anyhow, bail};
use async_trait::async_trait;
use outbox_core::prelude::*;
use outbox_postgres::{PostgresOutbox, PostgresWriter};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// As many as ours takes in one claim.
const BATCH: u32 = 200;

/// What is asked.
#[derive(Deserialize)]
struct Question {
    /// `commits`, or `catch_up`.
    peer: String,
    /// How long to commit.
    ms: u64,
    /// Accounts there are, or rows that wait.
    keys: u64,
    /// Transactions at once.
    #[serde(default)]
    tasks: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sold {
    words: String,
}

/// Takes everything.
struct Counting(watch::Sender<u64>);

#[async_trait]
impl Transport<Sold> for Counting {
    async fn publish(&self, _: Event<Sold>) -> Result<(), OutboxError> {
        self.0.send_modify(|taken| *taken += 1);
        Ok(())
    }
}

const TABLE: &str = "
    DROP TABLE IF EXISTS outbox_events;
    DROP TYPE IF EXISTS status;
    CREATE TYPE status AS ENUM ('Pending', 'Processing', 'Sent');
    CREATE TABLE outbox_events (
        id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
        idempotency_token TEXT,
        event_type TEXT NOT NULL,
        payload JSONB NOT NULL,
        status status NOT NULL DEFAULT 'Pending',
        created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
        locked_until TIMESTAMPTZ NOT NULL DEFAULT '-infinity'
    );
    CREATE INDEX idx_outbox_processing_queue ON outbox_events (locked_until, status) WHERE status IN ('Pending', 'Processing');
    CREATE UNIQUE INDEX idx_outbox_idempotency ON outbox_events (idempotency_token);
    CREATE OR REPLACE FUNCTION notify_outbox_event() RETURNS TRIGGER LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_notify('outbox_event', 'ping'); RETURN NEW; END $$;
    CREATE TRIGGER outbox_events_notify_trigger AFTER INSERT OR UPDATE ON outbox_events
        FOR EACH ROW EXECUTE FUNCTION notify_outbox_event();";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).context("the address of a PostgreSQL must be the first argument")?;
    let pool = PgPoolOptions::new().max_connections(12).connect(&url).await?;
    sqlx::raw_sql(TABLE).execute(&pool).await?;
    // The questions come one after another, and nothing runs between them.
    for line in std::io::stdin().lock().lines() {
        let asked: Question = serde_json::from_str(&line?)?;
        let rate = match asked.peer.as_str() {
            "commits" => commits(&pool, &asked).await?,
            "catch_up" => catch_up(&pool, asked.keys).await?,
            other => bail!("unknown request: {other}"),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{rate}")?;
        out.flush()?;
    }
    Ok(())
}

fn config() -> Arc<OutboxConfig<Sold>> {
    let mut config = OutboxConfig::default();
    config.batch_size = BATCH;
    Arc::new(config)
}

async fn commits(pool: &PgPool, asked: &Question) -> Result<f64> {
    sqlx::query("TRUNCATE outbox_events").execute(pool).await?;
    let service = Arc::new(OutboxService::new(Arc::new(PostgresWriter), config()));
    let (start, span, accounts) = (Instant::now(), Duration::from_millis(asked.ms), asked.keys);
    let mut running = JoinSet::new();
    for task in 0..asked.tasks {
        let (pool, service) = (pool.clone(), Arc::clone(&service));
        running.spawn(async move {
            let mut random = SmallRng::seed_from_u64(task as u64);
            let mut count = 0_u64;
            while start.elapsed() < span {
                let account = random.random_range(0..accounts) as i64;
                let mut transaction = pool.begin().await?;
                let add = sqlx::query("UPDATE accounts SET cents = cents + 1 WHERE id = $1").bind(account);
                add.execute(&mut *transaction).await?;
                let sold = Sold { words: "x".repeat(8) };
                let added = service.add_event("sold", sold, None, &mut *transaction).await;
                added.map_err(|error| anyhow!("{error}"))?;
                transaction.commit().await?;
                count += 1;
            }
            Ok::<_, anyhow::Error>(count)
        });
    }
    let mut count = 0;
    while let Some(done) = running.join_next().await {
        count += done??;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

async fn catch_up(pool: &PgPool, rows: u64) -> Result<f64> {
    sqlx::query("TRUNCATE outbox_events").execute(pool).await?;
    let fill = "INSERT INTO outbox_events (event_type, payload) \
                SELECT 'sold', jsonb_build_object('words', repeat('x', 100)) FROM generate_series(1, $1)";
    sqlx::query(fill).bind(i64::try_from(rows)?).execute(pool).await?;
    let (taken, mut takes) = watch::channel(0_u64);
    let (stop, stopped) = watch::channel(false);
    let manager = OutboxManagerBuilder::new()
        .storage(Arc::new(PostgresOutbox::new(pool.clone(), config())))
        .publisher(Arc::new(Counting(taken)))
        .config(config())
        .shutdown_rx(stopped)
        .build()
        .map_err(|error| anyhow!("{error}"))?;
    let start = Instant::now();
    let running = tokio::spawn(manager.run());
    takes.wait_for(|taken| *taken >= rows).await?;
    let rate = rows as f64 / start.elapsed().as_secs_f64();
    let _ = stop.send(true);
    running.await?.map_err(|error| anyhow!("{error}"))?;
    Ok(rate)
}
