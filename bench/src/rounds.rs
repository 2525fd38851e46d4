//! Alternates two measurements and compares them round by round.

use anyhow::Result;
use std::future::Future;
use std::time::Duration;

/// The number of rounds, and the duration of one side of a round.
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    pub(crate) span: Duration,
    pub(crate) quick: bool,
    /// Runs only the part of this name.
    pub(crate) only: Option<String>,
}

impl Plan {
    pub(crate) fn full() -> Self {
        Self { rounds: 13, span: Duration::from_millis(700), quick: false, only: None }
    }

    pub(crate) fn quick() -> Self {
        Self { rounds: 5, span: Duration::from_millis(500), quick: true, only: None }
    }

    /// Whether the part of this name runs.
    pub(crate) fn asks_for(&self, part: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == part)
    }

    /// For measurements whose rounds differ as much as the sides do: longer rounds average out pauses of the disk or of other programs.
    pub(crate) fn lengthened(&self) -> Self {
        Self { span: if self.quick { self.span } else { self.span * 3 }, only: self.only.clone(), ..*self }
    }

    /// For measurements that take seconds by themselves.
    pub(crate) fn shortened(&self) -> Self {
        Self { rounds: self.rounds.div_ceil(3), only: self.only.clone(), ..*self }
    }
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Compared {
    pub(crate) ours: f64,
    pub(crate) peer: f64,
    /// Median of the rounds' ratios, ours to the peer's.
    pub(crate) ratio: f64,
    /// From the lowest to the highest ratio, as a part of the median.
    pub(crate) spread: f64,
}

/// Measures ours and the peer alternately, in alternating order, after one discarded warm-up round.
pub(crate) async fn compare<Ours, Peer>(
    plan: &Plan,
    mut ours: impl FnMut(Duration) -> Ours,
    mut peer: impl FnMut(Duration) -> Peer,
) -> Result<Compared>
where
    Ours: Future<Output = Result<f64>>,
    Peer: Future<Output = Result<f64>>,
{
    ours(plan.span / 2).await?;
    peer(plan.span / 2).await?;
    let mut rounds = Vec::with_capacity(plan.rounds);
    for round in 0..plan.rounds {
        rounds.push(if round % 2 == 0 {
            let ours = ours(plan.span).await?;
            (ours, peer(plan.span).await?)
        } else {
            let peer = peer(plan.span).await?;
            (ours(plan.span).await?, peer)
        });
    }
    Ok(compared(&rounds))
}

/// Median and spread of a measurement without a peer.
pub(crate) fn repeat(plan: &Plan, mut ours: impl FnMut(Duration) -> Result<f64>) -> Result<(f64, f64)> {
    ours(plan.span / 2)?;
    let values = (0..plan.rounds).map(|_| ours(plan.span)).collect::<Result<Vec<f64>>>()?;
    let middle = median(values.clone());
    Ok((middle, distance(&values) / middle))
}

/// From the lowest to the highest.
fn distance(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max) - values.iter().copied().fold(f64::MAX, f64::min)
}

/// Medians, and the median of the ratios, of rounds that [`compare`] did not measure.
pub(crate) fn compared(rounds: &[(f64, f64)]) -> Compared {
    let column = |value: fn(&(f64, f64)) -> f64| median(rounds.iter().map(value).collect());
    let ratios: Vec<f64> = rounds.iter().map(|(ours, peer)| ours / peer).collect();
    let ratio = median(ratios.clone());
    let spread = distance(&ratios) / ratio;
    Compared { ours: column(|round| round.0), peer: column(|round| round.1), ratio, spread }
}

/// The middle value; of two middle ones the lower.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_the_median_of_the_rounds_and_not_of_the_sums() {
        // One slow round of both sides moves the medians of the sides, not the ratio.
        let found = compared(&[(80.0, 100.0), (8.0, 10.0), (90.0, 100.0)]);
        assert_eq!((found.ours, found.peer, found.ratio), (80.0, 100.0, 0.8));
        assert!((found.spread - 0.125).abs() < 1e-9);
    }
}
