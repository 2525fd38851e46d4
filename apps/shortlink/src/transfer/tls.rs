//! TLS towards a running service, through rustls with the ring provider.

use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Trusts the authorities in the PEM file `ca`, else those of the web.
///
/// # Errors
/// One sentence if the file holds none.
pub(super) fn connector(ca: Option<&Path>) -> Result<TlsConnector> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .context("TLS cannot be set up")?
        .with_root_certificates(roots(ca)?)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore> {
    let Some(file) = ca else { return Ok(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }) };
    let unreadable = || format!("cannot read certificate authorities from {}", file.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).with_context(unreadable)? {
        roots.add(certificate.with_context(unreadable)?).with_context(unreadable)?;
    }
    ensure!(!roots.is_empty(), "{} contains no PEM certificate", file.display());
    Ok(roots)
}
