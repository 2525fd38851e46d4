//! Certificates for a server that speaks TLS, made by the `openssl` program.

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const AUTHORITY: &str = "authority.pem";
const NEW_KEY: [&str; 5] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

/// The authority's certificate in a folder where [`make`] has been.
pub(super) fn authority(folder: &Path) -> PathBuf {
    folder.join(AUTHORITY)
}

/// Makes an authority and a server certificate for `localhost` and `127.0.0.1`, valid for two days.
pub(super) fn make(folder: &Path) -> Result<()> {
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")?;
    let authority =
        ["-x509", "-keyout", "authority.key", "-out", AUTHORITY, "-days", "2", "-subj", "/CN=testkit authority"];
    openssl(folder, &[&["req"], &NEW_KEY[..], &authority].concat())?;
    let request = ["-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost"];
    openssl(folder, &[&["req"], &NEW_KEY[..], &request].concat())?;
    let by = ["-CA", AUTHORITY, "-CAkey", "authority.key", "-CAcreateserial", "-extfile", "names"];
    openssl(folder, &[&["x509", "-req", "-in", "server.csr", "-out", "server.pem", "-days", "2"], &by[..]].concat())
}

/// What tells `redis-server` to use them, its folder being `inside`.
pub(super) fn redis_arguments(inside: &Path) -> Vec<String> {
    let file = |name: &str| inside.join(name).display().to_string();
    vec![
        "--tls-cert-file".into(),
        file("server.pem"),
        "--tls-key-file".into(),
        file("server.key"),
        "--tls-ca-cert-file".into(),
        file(AUTHORITY),
        "--tls-auth-clients".into(),
        "no".into(),
    ]
}

fn openssl(folder: &Path, arguments: &[&str]) -> Result<()> {
    let output = Command::new("openssl").args(arguments).current_dir(folder).output();
    let output = output.context("`openssl` makes the test certificates: run `cargo xtask setup` if it is missing")?;
    ensure!(output.status.success(), "openssl {} failed: {}", arguments[0], String::from_utf8_lossy(&output.stderr));
    Ok(())
}
