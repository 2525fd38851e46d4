//! The memory usage of this process. Under nextest each test is a process of its own.

use anyhow::{Context, Result};
use std::fs;

/// Measures the peak memory of the process since [`begin`](Growth::begin).
#[derive(Debug)]
pub struct Growth {
    before: u64,
}

impl Growth {
    /// Starts the measurement.
    pub fn begin() -> Result<Self> {
        // Resets the peak (proc(5)).
        fs::write("/proc/self/clear_refs", "5").context("could not reset the peak of /proc/self/status")?;
        Ok(Self { before: resident("VmRSS")? })
    }

    /// The peak memory above that at the start, in bytes.
    pub fn peak(&self) -> Result<u64> {
        Ok(resident("VmHWM")?.saturating_sub(self.before))
    }
}

/// A field of `/proc/self/status`, in bytes.
fn resident(field: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kib.with_context(|| format!("/proc/self/status has no {field}"))? * 1024)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test reports a failure by panicking")]
mod tests {
    use super::Growth;

    #[test]
    fn freed_memory_counts_towards_the_peak() {
        let growth = Growth::begin().unwrap();
        // Different values, because the kernel may share pages of zeros.
        let bytes: Vec<u8> = (0..64_u32 << 20).map(|number| number.to_le_bytes()[0]).collect();
        assert_eq!(bytes[300], 44);
        drop(bytes);
        let peak = growth.peak().unwrap();
        assert!((60 << 20..256 << 20).contains(&peak), "{peak}");
    }
}
