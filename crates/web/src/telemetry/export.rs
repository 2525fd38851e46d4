//! The exporter of spans.

use super::client::Client;
use super::filter;
use anyhow::{Context as _, Result, bail};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::io::IsTerminal;
use std::time::Duration;
use tokio::runtime::Handle;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{LevelFilter, dynamic_filter_fn};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use url::Url;

/// How long the last export may take at shutdown.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// The path to which OTLP over HTTP sends spans.
const PATH: &str = "v1/traces";

/// The exporter of a program.
#[derive(Debug)]
pub(super) struct Exporter(SdkTracerProvider);

impl Exporter {
    pub(super) async fn close(self) {
        // The exporter has a thread of its own, for which the call blocks.
        let closed = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(CLOSE_MAX)).await;
        if let Ok(Err(error)) = closed {
            tracing::warn!(%error, "the last spans were not exported");
        }
    }
}

pub(super) fn start(program: &str, url: &str, log: &str) -> Result<Exporter> {
    let endpoint = endpoint(url)?;
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Client::new(Handle::current()))
        .with_protocol(Protocol::HttpJson)
        .with_endpoint(endpoint)
        .build()
        .context("cannot export spans")?;
    let resource = Resource::builder().with_service_name(program.to_owned()).build();
    let provider = SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build();
    let spans = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("evenkeel"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false);
    // A read of a cache is part of a request's trace; by itself it would be one trace per read.
    let exported = dynamic_filter_fn(|metadata, context| {
        is_exported(metadata)
            && (!metadata.target().starts_with("evenkeel::cache") || context.lookup_current().is_some())
    });
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_filter(filter(log));
    let registry = tracing_subscriber::registry();
    let exported = exported.with_max_level_hint(LevelFilter::DEBUG);
    // Fails only if a subscriber is already installed.
    let _ = registry.with(log).with(only_spans(spans).with_filter(exported)).try_init();
    Ok(Exporter(provider))
}

/// The type of the layer, named so that its subscriber is inferred.
fn only_spans<S, L>(layer: L) -> L
where
    L: Layer<S>,
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    layer
}

/// Spans of the library at `debug`, those of the programs at `info`. Events stay in the log.
fn is_exported(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    let level = match target.split("::").next().unwrap_or_default() {
        "evenkeel" => Level::DEBUG,
        "web" | "shortlink" | "stockroom" => Level::INFO,
        _ => return false,
    };
    !metadata.is_event() && *metadata.level() <= level
}

/// The URL to which spans are sent.
fn endpoint(text: &str) -> Result<String> {
    let wrong = || format!("the setting \"otlp\" is wrong: {text:?} is not a URL such as http://127.0.0.1:4318");
    let mut url = Url::parse(text).with_context(wrong)?;
    if url.scheme() == "https" {
        bail!(
            "the setting \"otlp\" is wrong: spans are sent without TLS; send them to a collector of your network, as in \
             http://127.0.0.1:4318, which forwards them"
        );
    }
    if url.scheme() != "http" || !url.has_host() || url.query().is_some() || !url.username().is_empty() {
        bail!(wrong());
    }
    if !url.path().ends_with(PATH) {
        let path = format!("{}/{PATH}", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    Ok(url.into())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::endpoint;

    #[test]
    fn collector_url_gets_the_path_of_traces() {
        assert_eq!(endpoint("http://127.0.0.1:4318").unwrap(), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(endpoint("http://otel/base/").unwrap(), "http://otel/base/v1/traces");
        assert_eq!(endpoint("http://otel/v1/traces").unwrap(), "http://otel/v1/traces");
        for wrong in ["", "otel:4318", "ftp://otel", "http://", "http://user@otel", "http://otel?key=1", "https://otel"]
        {
            let error = format!("{:#}", endpoint(wrong).unwrap_err());
            assert!(error.contains("the setting \"otlp\" is wrong") && !error.contains('\n'), "{error}");
        }
    }
}
