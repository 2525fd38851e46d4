//! TLS through rustls with an explicit ring provider: the process-wide default provider is the program's choice.

use crate::error::LinkError;
use crate::server::target::TlsFiles;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Wraps streams in TLS.
pub(crate) struct Tls(TlsConnector);

impl Tls {
    /// Reads the files once, so that a wrong path is an error when the link is opened.
    pub(crate) fn new(files: &TlsFiles) -> Result<Self, LinkError> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&format!("TLS cannot be set up: {error}")))?
            .with_root_certificates(roots(files.ca.as_deref())?);
        let config = match (&files.certificate, &files.key) {
            (Some(certificate), Some(key)) => {
                config.with_client_auth_cert(certificates(certificate)?, private_key(key)?).map_err(|error| {
                    wrong(&format!("the certificate {} does not match its key: {error}", certificate.display()))
                })?
            }
            (None, None) => config.with_no_client_auth(),
            _ => return Err(wrong("`tls_cert_file` and `tls_key_file` must be given together")),
        };
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// Performs the TLS handshake as a client of `host`.
    pub(crate) async fn wrap(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        self.0.connect(name, stream).await
    }
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, LinkError> {
    let mut store = RootCertStore::empty();
    match ca {
        None => store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            for certificate in certificates(path)? {
                store
                    .add(certificate)
                    .map_err(|error| wrong(&format!("{} is not a usable root certificate: {error}", path.display())))?;
            }
        }
    }
    Ok(store)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, LinkError> {
    let unreadable = |error| wrong(&format!("cannot read certificates from {}: {error}", path.display()));
    let found =
        CertificateDer::pem_file_iter(path).map_err(unreadable)?.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    if found.is_empty() {
        return Err(wrong(&format!("{} contains no certificate in PEM form", path.display())));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, LinkError> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|error| wrong(&format!("cannot read a private key from {}: {error}", path.display())))
}

fn wrong(text: &str) -> LinkError {
    LinkError::Options(text.to_owned())
}
