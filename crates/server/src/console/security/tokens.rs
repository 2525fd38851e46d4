//! The token file: who may log in, with which role. It keeps hashes, not tokens.

use super::super::rights::Role;
use super::session::hex;
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The permissions of the file.
const MODE: u32 = 0o600;

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tokens {
    /// Signs cookies: 64 hexadecimal digits.
    key: String,
    #[serde(default, rename = "token")]
    pub(super) entries: Vec<Entry>,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Who has it; the audit log shows this name.
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The SHA-256 of the token, in hexadecimal.
    pub(super) sha256: String,
}

impl Tokens {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let metadata = fs::metadata(path).with_context(|| format!("cannot read the token file {shown}"))?;
        let mode = metadata.permissions().mode() & 0o777;
        ensure!(
            mode & 0o077 == 0,
            "the token file {shown} has mode {mode:o}: others may read it; run `chmod 600 {shown}`"
        );
        let text = fs::read_to_string(path).with_context(|| format!("cannot read the token file {shown}"))?;
        let parsed = web::settings::parse::<Self>(&text);
        let tokens = match parsed {
            Ok(tokens) => tokens,
            // The reason may repeat a hash, which is not a secret worth hiding from the owner of the file.
            Err((line, reason)) => bail!("{shown}, line {line}: {reason}"),
        };
        ensure!(
            tokens.key_bytes().is_some(),
            "{shown}: `key` must be 64 hexadecimal digits; `evenkeel token new` creates the file"
        );
        Ok(tokens)
    }

    /// The key that signs cookies.
    pub(super) fn key_bytes(&self) -> Option<[u8; 32]> {
        let digits = self.key.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut key = [0; 32];
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(key)
    }

    /// Adds a token for `name` to the file, which is created if it does not exist, and returns the token.
    pub(crate) fn add(path: &Path, name: &str, role: Role) -> Result<String> {
        ensure!(!name.is_empty() && name.len() <= 64, "the name must have 1 to 64 characters");
        let mut tokens = if path.exists() { Self::read(path)? } else { Self::default() };
        if tokens.key.is_empty() {
            tokens.key = hex(&rand::random::<[u8; 32]>());
        }
        if tokens.entries.iter().any(|entry| entry.name == name) {
            bail!("{} already has a token for {name}; delete that entry first, or choose another name", path.display());
        }
        let token = format!("ek_{}", hex(&rand::random::<[u8; 32]>()));
        tokens.entries.push(Entry { name: name.to_owned(), role, sha256: hash(&token) });
        write(path, &toml::to_string(&tokens)?)?;
        Ok(token)
    }
}

/// The hash under which a token is kept.
pub(super) fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

/// Replaces the file in one step, so that a console never reads half of it.
fn write(path: &Path, text: &str) -> Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let context = || format!("cannot write the token file {}", path.display());
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(&new).with_context(context)?;
    file.set_permissions(fs::Permissions::from_mode(MODE)).with_context(context)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).with_context(context)?;
    fs::rename(&new, path).with_context(context)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn new_token_is_kept_as_a_hash_in_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let token = Tokens::add(&path, "ada", Role::Operator).unwrap();
        let other = Tokens::add(&path, "ben", Role::Viewer).unwrap();
        assert_ne!(token, other);
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&token[3..]) && text.contains(&hash(&token)), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Tokens::read(&path).unwrap().entries.len(), 2);
        assert!(Tokens::add(&path, "ada", Role::Admin).unwrap_err().to_string().contains("already has a token"));
    }

    #[test]
    fn readable_or_damaged_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        Tokens::add(&path, "ada", Role::Operator).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Tokens::read(&path).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "key = \"00\"\n").unwrap();
        assert!(Tokens::read(&path).unwrap_err().to_string().contains("64 hexadecimal digits"));
    }
}
