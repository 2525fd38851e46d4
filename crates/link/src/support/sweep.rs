//! [`SweepAt`]: when a collection is swept of what is gone.

/// The size at which a collection is swept: [`SWEEP_MIN`](Self::SWEEP_MIN) at first, then twice the size that the last sweep left. An insertion
/// so costs constant time on average, however much of the collection is still in use.
#[derive(Debug, Default)]
pub struct SweepAt(usize);

impl SweepAt {
    /// Smaller collections are never swept.
    pub const SWEEP_MIN: usize = 64;

    /// Whether a collection of this size is to be swept before the next insertion.
    #[must_use]
    pub fn is_due(&self, size: usize) -> bool {
        size >= self.0.max(Self::SWEEP_MIN)
    }

    /// A sweep has left this size.
    pub fn swept(&mut self, left: usize) {
        self.0 = left.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::SweepAt;

    #[test]
    fn collection_in_use_is_swept_a_few_times() {
        let (mut at, mut sweeps) = (SweepAt::default(), 0);
        for size in 0..10_000 {
            if at.is_due(size) {
                at.swept(size);
                sweeps += 1;
            }
        }
        assert_eq!(sweeps, 8);
    }
}
