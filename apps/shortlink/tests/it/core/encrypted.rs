//! `--server https://..`: import into a service behind a TLS proxy.

use super::program::Workdir;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use testkit::servers::certificates;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A TLS proxy for `service` on a free port, with the server's certificate in `folder`.
async fn terminator(folder: &Path, service: SocketAddr) -> SocketAddr {
    let identity = certificates::server(folder);
    let certificate = CertificateDer::from_pem_file(identity.certificate).unwrap();
    let key = PrivateKeyDer::from_pem_file(identity.key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust the certificate closes the connection here.
            let Ok(mut outside) = acceptor.accept(stream).await else { continue };
            let mut inside = TcpStream::connect(service).await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut outside, &mut inside).await });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn import_over_tls_needs_trusted_authority() {
    let dir = Workdir::new();
    certificates::make(dir.path("").as_path()).unwrap();
    let (mut child, mut out) = dir.start(&["--listen", "127.0.0.1:0"]);
    let service = out.line().unwrap().trim_start_matches("listening on http://").parse().unwrap();
    let url = format!("https://{}", terminator(&dir.path(""), service).await);
    dir.write("in.tsv", "target\nhttps://example.com/1\nhttps://example.com/2\n");

    let trusting = ["--server", &url, "--ca", "authority.pem"];
    let taken = dir.succeed(&[&["import", "in.tsv"], &trusting[..]].concat());
    assert_eq!(taken, "2 links: 2 new, 0 already present, 0 rejected\n");
    assert_eq!(dir.succeed(&[&["export", "out.tsv"], &trusting[..]].concat()), "2 links written to out.tsv\n");

    let why = dir.refuse(&["import", "in.tsv", "--server", &url]);
    assert!(why.starts_with(&format!("shortlink: cannot reach the service at {url}/: ")), "{why}");
    assert!(why.contains("certificate"), "{why}");
    for (arguments, sentence) in [
        (["--server", &url, "--ca", "gone.pem"], "cannot read certificate authorities from gone.pem: "),
        (["--server", &url, "--ca", "in.tsv"], "in.tsv contains no PEM certificate"),
        (["--server", "http://localhost", "--ca", "authority.pem"], "--ca is for https:// addresses; http://localhost"),
    ] {
        let why = dir.refuse(&[&["import", "in.tsv"], &arguments[..]].concat());
        assert!(why.starts_with(&format!("shortlink: {sentence}")), "{why}");
    }
    child.terminate().await.unwrap();
}
