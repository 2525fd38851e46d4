//! The log on standard error and, with the feature `otel`, the export of spans to an OpenTelemetry collector.

#[cfg(feature = "otel")]
mod client;
#[cfg(feature = "otel")]
mod export;
#[cfg(feature = "otel")]
mod requests;

#[cfg(feature = "otel")]
pub(crate) use requests::{describe_request, describe_response};

use anyhow::Result;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// The log and the export of spans of a program.
#[must_use = "spans that are not exported yet are lost unless it is closed"]
#[derive(Debug)]
pub struct Telemetry {
    #[cfg(feature = "otel")]
    exporter: Option<export::Exporter>,
}

/// What is logged, unless the program or `RUST_LOG` says otherwise.
pub const LOG: &str = "info";

/// Logs to standard error what `log` selects, or `RUST_LOG` if it is set. With `otlp`, the URL of a collector such as
/// `http://127.0.0.1:4318`, also exports the spans of requests, transactions, effects and jobs to it, by OTLP over HTTP with JSON.
/// `OTEL_TRACES_SAMPLER`, `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_BSP_SCHEDULE_DELAY` work as OpenTelemetry specifies them. Call it within a
/// runtime that has more than one thread.
///
/// **Guarantee.** A collector that is slow or away does not delay a request: spans that do not fit into the buffer are dropped.
///
/// # Errors
/// `otlp` is not such a URL, or the program was built without the feature `otel`.
pub fn start(program: &str, otlp: Option<&str>, log: &str) -> Result<Telemetry> {
    #[cfg(feature = "otel")]
    if let Some(url) = otlp {
        return Ok(Telemetry { exporter: Some(export::start(program, url, log)?) });
    }
    #[cfg(not(feature = "otel"))]
    if otlp.is_some() {
        anyhow::bail!(
            "the setting \"otlp\" is wrong: this {program} was built without the feature otel; build it with --features otel"
        );
    }
    // Fails only if a subscriber is already installed.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter(log))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init();
    Ok(Telemetry {
        #[cfg(feature = "otel")]
        exporter: None,
    })
}

fn filter(log: &str) -> EnvFilter {
    EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(log))
}

impl Telemetry {
    /// Exports the spans that have ended. Takes at most five seconds.
    pub async fn close(self) {
        #[cfg(feature = "otel")]
        if let Some(exporter) = self.exporter {
            exporter.close().await;
        }
    }
}
