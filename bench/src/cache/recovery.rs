//! The time from the restart of a killed Redis to the first successful read.

use super::{BENCH, values};
use crate::rounds::{Plan, median};
use crate::row::Row;
use anyhow::{Context, Result};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::cache::{Cache, Freshness, Tier};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use testkit::servers::{Redis, RedisOptions};

/// Long enough for the link's pauses between attempts to reach their longest.
const AWAY: Duration = Duration::from_secs(4);
const KEY: u64 = 42;

pub(crate) async fn run(plan: &Plan) -> Result<Vec<Row>> {
    // The entry must still be there: what is measured is the way back, not a load.
    let mut redis = Redis::start(RedisOptions::new().append_only()).await?;
    let keel = Keel::connect(&redis.url()).await?;
    let cache = values::raw(&keel, "recovery").await?;
    cache.get(&KEY, |_| values::bytes()).await?;
    let mut seconds = Vec::new();
    for _ in 0..if plan.quick { 3 } else { 7 } {
        seconds.push(once(&mut redis, &keel, &cache).await?.as_secs_f64());
    }
    let (lowest, highest) =
        seconds.iter().fold((f64::MAX, 0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    let middle = median(seconds);
    let spread = Some((highest - lowest) / middle);
    let row = |name: &str, value: f64, spread| Row::alone(BENCH, name.to_owned(), "s", value, spread);
    Ok(vec![
        row("from the restart of a killed Redis to the first hit, median", middle, spread),
        row("from the restart of a killed Redis to the first hit, longest", highest, None),
    ])
}

async fn once(redis: &mut Redis, keel: &Keel, cache: &Cache<u64, Bytes>) -> Result<Duration> {
    redis.kill()?;
    tokio::time::sleep(AWAY).await;
    let port = redis.port();
    let back = tokio::task::spawn_blocking(move || answers(port));
    let hit = async {
        let mut state = keel.link().context("a keel on Redis has a link")?.state();
        loop {
            // While Redis is away the loader answers; the first answer of the store ends the outage.
            if cache.get_with(&KEY, Freshness::Eventual, |_| values::bytes()).await?.tier == Tier::Store {
                return Ok::<_, anyhow::Error>(Instant::now());
            }
            state.changed().await?;
        }
    };
    let (restarted, hit) = tokio::join!(redis.restart(), hit);
    restarted?;
    Ok(hit?.saturating_duration_since(back.await?))
}

/// When the server first answers a client that polls without pause.
fn answers(port: u16) -> Instant {
    loop {
        if ping(port).is_ok_and(|answer| answer.starts_with(b"+PONG")) {
            return Instant::now();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn ping(port: u16) -> std::io::Result<[u8; 5]> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}
