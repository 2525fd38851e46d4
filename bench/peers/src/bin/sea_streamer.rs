//! sea-streamer over the same Redis, asked over standard input: a question is one JSON object a line, the answer one number
//! (`bench/src/peer.rs`).
//!
//! A producer sends entries in parts as large as those of Evenkeel, while a consumer of a group reads them; it acknowledges them by itself,
//! some time after it has handed them over, which is its default.

use anyhow::{Context, Result, bail};
use futures_util::future::try_join_all;
use sea_streamer_redis::{AutoStreamReset, RedisConsumer, RedisConsumerOptions, RedisProducer, RedisStreamer};
use sea_streamer_types::{
    Buffer, Consumer, ConsumerGroup, ConsumerMode, ConsumerOptions, Message, Producer, StreamKey, Streamer,
};
use serde::Deserialize;
use std::io::{BufRead, Write};
use std::time::Instant;

const STREAM: &str = "sea";
const GROUP: &str = "bench";
/// As those of Evenkeel.
const BODY: [u8; 100] = [b'x'; 100];
const BULK: usize = 500;
const PAGE: usize = 100;

/// What is asked.
#[derive(Deserialize)]
struct Question {
    /// What to do.
    peer: String,
    /// Entries.
    tasks: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let url = std::env::args().nth(1).context("the address of a Redis must be the first argument")?;
    let streamer = RedisStreamer::connect(url.parse()?, Default::default()).await?;
    let stream = StreamKey::new(STREAM)?;
    let mut options = RedisConsumerOptions::new(ConsumerMode::LoadBalanced);
    options.set_consumer_group(ConsumerGroup::new(GROUP))?;
    options.set_auto_stream_reset(AutoStreamReset::Earliest).set_batch_size(PAGE).set_mkstream(true);
    let consumer = streamer.create_consumer(&[stream.clone()], options).await?;
    let producer = streamer.create_producer(stream, Default::default()).await?;
    for line in std::io::stdin().lock().lines() {
        let asked: Question = serde_json::from_str(&line?)?;
        let answer = match asked.peer.as_str() {
            "work" => work(&producer, &consumer, asked.tasks).await?,
            other => bail!("unknown request: {other}"),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// Entries a second from the first append to the last one that is handed over.
async fn work(producer: &RedisProducer, consumer: &RedisConsumer, entries: usize) -> Result<f64> {
    let start = Instant::now();
    let appended = async {
        for first in (0..entries).step_by(BULK) {
            let part = first..entries.min(first + BULK);
            let sent = part.map(|_| producer.send(BODY.as_slice())).collect::<Result<Vec<_>, _>>()?;
            try_join_all(sent).await?;
        }
        anyhow::Ok(())
    };
    let handled = async {
        for _ in 0..entries {
            let message = consumer.next().await?;
            if message.message().as_bytes().len() != BODY.len() {
                bail!("another body arrived");
            }
        }
        anyhow::Ok(())
    };
    tokio::try_join!(appended, handled)?;
    Ok(entries as f64 / start.elapsed().as_secs_f64())
}
