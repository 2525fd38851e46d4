//! ferroid, asked over standard input: a question is one JSON object a line, the answer one number, ids a second (`bench/src/id/`).
//!
//! Its worker id is a constant: it leases none, and reserves no time.

use anyhow::Result;
use ferroid::generator::AtomicSnowflakeGenerator;
use ferroid::id::SnowflakeTwitterId;
use ferroid::time::{MonotonicClock, TWITTER_EPOCH};
use serde::Deserialize;
use std::hint::{black_box, spin_loop};
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

/// Ids between two readings of the clock.
const IDS: u64 = 1_000;

/// What is asked.
#[derive(Deserialize)]
struct Question {
    /// How long to measure.
    ms: u64,
}

fn main() -> Result<()> {
    let generator = AtomicSnowflakeGenerator::new(0, MonotonicClock::<1>::with_epoch(TWITTER_EPOCH));
    for line in std::io::stdin().lock().lines() {
        let question: Question = serde_json::from_str(&line?)?;
        let (span, start, mut ids) = (Duration::from_millis(question.ms), Instant::now(), 0_u64);
        while start.elapsed() < span {
            for _ in 0..IDS {
                let id: SnowflakeTwitterId = generator.next_id(|_| spin_loop());
                black_box(id);
            }
            ids += IDS;
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", ids as f64 / start.elapsed().as_secs_f64())?;
        out.flush()?;
    }
    Ok(())
}
