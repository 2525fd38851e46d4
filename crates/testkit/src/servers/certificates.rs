//! Certificates for servers with TLS and for their clients, created with `openssl`.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const AUTHORITY: &str = "authority.pem";
const NEW_KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/// A certificate and its key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// The certificate of the authority that [`make`] created in this folder.
#[must_use]
pub fn authority(folder: &Path) -> PathBuf {
    folder.join(AUTHORITY)
}

/// The certificate of the server, for `localhost` and `127.0.0.1`.
#[must_use]
pub fn server(folder: &Path) -> Identity {
    identity(folder, "server")
}

/// The certificate of a client.
#[must_use]
pub fn client(folder: &Path) -> Identity {
    identity(folder, "client")
}

/// Creates an authority, a server certificate for `localhost` and `127.0.0.1` and a client certificate, valid for two days.
///
/// # Errors
/// `openssl` is missing or fails; the error says which.
pub fn make(folder: &Path) -> Result<()> {
    let authority =
        ["-x509", "-keyout", "authority.key", "-out", AUTHORITY, "-days", "2", "-subj", "/CN=testkit authority"];
    openssl(folder, &[&["req"], &NEW_KEY[..], &authority].concat())?;
    signed(folder, "server", "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")?;
    signed(folder, "client", "subjectAltName=DNS:client.test\nextendedKeyUsage=clientAuth\n")
}

/// The arguments with which `redis-server` uses the certificates in the folder `inside`.
pub(super) fn redis_arguments(inside: &Path) -> Vec<String> {
    let file = |name: &str| inside.join(name).display().to_string();
    vec![
        "--tls-cert-file".into(),
        file("server.pem"),
        "--tls-key-file".into(),
        file("server.key"),
        "--tls-ca-cert-file".into(),
        file(AUTHORITY),
    ]
}

fn identity(folder: &Path, name: &str) -> Identity {
    Identity { certificate: folder.join(format!("{name}.pem")), key: folder.join(format!("{name}.key")) }
}

/// Creates `NAME.key` and `NAME.pem`, signed by the authority.
fn signed(folder: &Path, name: &str, extensions: &str) -> Result<()> {
    let [key, request, certificate, extension_file] =
        ["key", "csr", "pem", "ext"].map(|ending| format!("{name}.{ending}"));
    fs::write(folder.join(&extension_file), extensions)?;
    let subject = format!("/CN={name}");
    let asked = ["-keyout", &key, "-out", &request, "-subj", &subject];
    openssl(folder, &[&["req"], &NEW_KEY[..], &asked].concat())?;
    let by = ["-CA", AUTHORITY, "-CAkey", "authority.key", "-CAcreateserial", "-extfile", &extension_file];
    openssl(folder, &[&["x509", "-req", "-in", &request, "-out", &certificate, "-days", "2"], &by[..]].concat())
}

fn openssl(folder: &Path, arguments: &[&str]) -> Result<()> {
    let output = Command::new("openssl").args(arguments).current_dir(folder).output();
    let output = output.context("could not run `openssl`: if it is missing, run `cargo xtask setup`")?;
    ensure!(output.status.success(), "openssl {} failed: {}", arguments[0], String::from_utf8_lossy(&output.stderr));
    Ok(())
}
