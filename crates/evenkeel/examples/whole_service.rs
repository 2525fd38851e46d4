//! A whole service: users over HTTP, cached; a welcome letter that a transaction promises, with retries; a nightly report that one
//! instance of the fleet writes; a relay for what a crash left undone; and one signal that ends it all in order.
//!
//! `cargo run -p evenkeel --features cache,queue,lock,sqlite --example whole_service`, or with `redis://HOST` as an argument.
#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Router, routing::get};
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::queue::{Cron, Delivery, Queue, RetryDelay};
use evenkeel::sql::migrate;
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Refusal = (StatusCode, String);

const NOT_NOW: StatusCode = StatusCode::SERVICE_UNAVAILABLE;

#[derive(Clone)]
struct Service {
    keel: Keel,
    db: SqlitePool,
    names: Cache<i64, String>,
    welcome: Queue<i64>,
    report: Queue<String>,
    /// Notification of a written report for the wait below; a service has no such thing.
    written: mpsc::Sender<String>,
}

impl Service {
    async fn open(redis: Option<String>, written: mpsc::Sender<String>) -> Result<Self, Failure> {
        let keel = match redis {
            Some(url) => Keel::connect(&url).await?,
            None => Keel::memory(),
        };
        let db = SqlitePoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect("sqlite::memory:")
            .await?;
        sqlx::query("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL)").execute(&db).await?;
        migrate(&db).await?;
        let names = keel.cache("example-user").ttl(Duration::from_secs(600)).open().await?;
        let delay = RetryDelay::fixed(Duration::from_millis(20));
        let welcome = keel.queue("example-welcome").retries(5).retry_delay(delay).open().await?;
        let report = keel.queue("example-report").open().await?;
        Ok(Self { keel, db, names, welcome, report, written })
    }

    /// The row, what is cached of it, and the letter: all of it, or nothing.
    async fn rename(&self, id: i64, name: &str) -> Result<(), Failure> {
        let mut work = self.keel.begin(&self.db).await?;
        let upsert = "INSERT INTO users (id, name) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name";
        sqlx::query(upsert).bind(id).bind(name).execute(work.tx()).await?;
        work.invalidate(&self.names, &id)?;
        work.enqueue(self.welcome.job(&id))?;
        work.commit().await?;
        Ok(())
    }

    async fn name(&self, id: i64) -> Result<Option<String>, Failure> {
        let db = self.db.clone();
        let load =
            async move { sqlx::query_scalar("SELECT name FROM users WHERE id = ?").bind(id).fetch_optional(&db).await };
        Ok(self.names.get(&id, |_| load).await?.map(|name| name.to_string()))
    }

    async fn write_letter(self, job: Delivery<i64>) -> Result<(), Failure> {
        if job.attempt == 1 {
            return Err("the mail server is busy".into());
        }
        let name = self.name(job.body).await?.unwrap_or_default();
        Ok(self.written.send(format!("Welcome, {name}! (attempt {})", job.attempt)).await?)
    }

    /// The holder of the lock writes it; if the lock is lost, it stops in the middle.
    async fn write_report(self, job: Delivery<String>) -> Result<(), Failure> {
        let guard = self.keel.lock("example-report").ttl(Duration::from_secs(30)).acquire().await?;
        let count: i64 = guard.run(sqlx::query_scalar("SELECT count(*) FROM users").fetch_one(&self.db)).await??;
        guard.release().await?;
        Ok(self.written.send(format!("{}: {count} user", job.body)).await?)
    }

    /// Serves until `stop` completes; then each part finishes what it has begun.
    async fn run(self, listener: TcpListener, stop: watch::Receiver<bool>) -> Result<(), Failure> {
        let stopped = || {
            let mut stop = stop.clone();
            async move { drop(stop.wait_for(|stop| *stop).await) }
        };
        let router = Router::new().route("/users/{id}", get(show).put(rename)).with_state(self.clone());
        let serving = async { Ok(axum::serve(listener, router).with_graceful_shutdown(stopped()).await?) };
        let (writer, reporter) = (self.clone(), self.clone());
        let letters = self.welcome.consume(move |job| writer.clone().write_letter(job));
        let reports = self.report.consume(move |job| reporter.clone().write_report(job));
        let nightly = "30 2 * * *".parse::<Cron>()?.in_zone("Europe/Berlin")?;
        let nightly = self.report.periodic("nightly", nightly, |time| format!("report of {}", time.date()));
        let jobs =
            async { Ok(tokio::try_join!(letters.run(stopped()), reports.run(stopped()), nightly.run(stopped()))?) };
        let relaying = async {
            self.keel.relay(&self.db).run(stopped()).await;
            Ok::<_, Failure>(())
        };
        tokio::try_join!(serving, jobs, relaying)?;
        self.keel.shutdown(Duration::from_secs(5)).await;
        Ok(())
    }
}

async fn show(State(service): State<Service>, Path(id): Path<i64>) -> Result<String, Refusal> {
    let name = service.name(id).await.map_err(|error| (NOT_NOW, error.to_string()))?;
    name.ok_or_else(|| (StatusCode::NOT_FOUND, "unknown user".to_owned()))
}

async fn rename(State(service): State<Service>, Path(id): Path<i64>, name: String) -> Result<&'static str, Refusal> {
    service.rename(id, &name).await.map_err(|error| (NOT_NOW, error.to_string()))?;
    Ok("saved")
}

/// A visitor's request, and the body of its answer.
async fn visit(address: std::net::SocketAddr, method: &str, body: &str) -> Result<(), Failure> {
    let mut connection = TcpStream::connect(address).await?;
    let request = format!("{method} /users/42 HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    connection.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    println!("{method}: {}", answer.lines().last().unwrap_or_default());
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (letters, mut written) = mpsc::channel(1);
    let service = Service::open(std::env::args().nth(1), letters).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (address, reports, (stop, stopped)) = (listener.local_addr()?, service.report.clone(), watch::channel(false));
    let running = tokio::spawn(service.run(listener, stopped));
    visit(address, "PUT", "Ada").await?;
    println!("{}", written.recv().await.unwrap_or_default());
    visit(address, "GET", "").await?;
    reports.now(&"report of today".to_owned()).await?; // at once, not at night
    println!("{}", written.recv().await.unwrap_or_default());
    stop.send(true)?; // in a service: at SIGTERM or Ctrl-C (docs/production.md)
    running.await??;
    println!("stopped");
    Ok(())
}
