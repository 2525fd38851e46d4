//! Loopback ports that stay reserved while their server is down.

use anyhow::{Context, Result, bail};
use rand::Rng;
use std::fs::{self, File, TryLockError};
use std::net::TcpListener;

/// Below the ports that Linux assigns to outgoing connections (from 32768), so a restarted server finds its port free.
const PORTS: std::ops::Range<u16> = 10_000..32_000;

const ATTEMPTS: usize = 1000;

/// A port that no other test on this machine receives while this value lives.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    /// Holds the lock, which the kernel releases however this process ends.
    _reservation: File,
}

impl Port {
    /// Reserves a free port.
    pub(crate) fn reserve() -> Result<Port> {
        let folder = crate::folder::common("ports", None)?;
        for _ in 0..ATTEMPTS {
            let number = rand::rng().random_range(PORTS);
            let file = folder.join(number.to_string());
            let file = File::create(&file).with_context(|| format!("could not create {}", file.display()))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => return Err(error).context("could not lock a port's file"),
            }
            if TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Ok(Port { number, _reservation: file });
            }
        }
        bail!("found no free port on 127.0.0.1 in {PORTS:?}: close some servers")
    }

    /// The port number.
    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        if let Ok(folder) = crate::folder::common("ports", None) {
            fs::remove_file(folder.join(self.number.to_string())).ok();
        }
    }
}
