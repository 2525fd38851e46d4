//! How much memory this process has taken. One test is one process under nextest, so a test sees its own.

use anyhow::{Context, Result};
use std::fs;

/// Counts the most memory that the process has had since it began.
#[derive(Debug)]
pub struct Growth {
    before: u64,
}

impl Growth {
    /// From here.
    pub fn begin() -> Result<Self> {
        // Forgets the peak of before (proc(5)).
        fs::write("/proc/self/clear_refs", "5").context("could not reset the peak of /proc/self/status")?;
        Ok(Self { before: resident("VmRSS")? })
    }

    /// How many bytes more the process had at its highest.
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
#[expect(clippy::unwrap_used, reason = "a test says what broke by panicking")]
mod tests {
    use super::Growth;

    #[test]
    fn memory_that_was_given_back_counts() {
        let growth = Growth::begin().unwrap();
        // Not of one value, which the system would give as a page of zeros.
        let bytes: Vec<u8> = (0..64_u32 << 20).map(|number| number.to_le_bytes()[0]).collect();
        assert_eq!(bytes[300], 44);
        drop(bytes);
        let peak = growth.peak().unwrap();
        assert!((60 << 20..256 << 20).contains(&peak), "{peak}");
    }
}
