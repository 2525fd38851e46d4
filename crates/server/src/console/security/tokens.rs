//! The token file: who may log in, with which role. It keeps hashes, not tokens.

use super::super::rights::{Role, Scope};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use web::{from_hex, hex};

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

/// What a new token may do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grant {
    pub(crate) role: Option<Role>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) per_second: Option<u32>,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Who has it; the audit log shows this name.
    pub(crate) name: String,
    /// The role of a person; an API key of a program has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<Role>,
    /// The scopes of an API key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) scopes: Vec<Scope>,
    /// The requests to the API per second; without it, the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) per_second: Option<u32>,
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
        from_hex(&self.key)?.try_into().ok()
    }

    /// Adds a token for `name` to the file, which is created if it does not exist, and returns the token.
    pub(crate) fn add(path: &Path, name: &str, grant: Grant) -> Result<String> {
        ensure!(!name.is_empty() && name.len() <= 64, "the name must have 1 to 64 characters");
        // Until it is closed: another process would read the file before this token is in it, and replace it without this token.
        let _lock = lock(path)?;
        let mut tokens = if path.exists() { Self::read(path)? } else { Self::default() };
        if tokens.key.is_empty() {
            tokens.key = hex(&rand::random::<[u8; 32]>());
        }
        if tokens.entries.iter().any(|entry| entry.name == name) {
            bail!("{} already has a token for {name}; delete that entry first, or choose another name", path.display());
        }
        let Grant { role, scopes, per_second } = grant;
        let token = format!("ek_{}", hex(&rand::random::<[u8; 32]>()));
        tokens.entries.push(Entry { name: name.to_owned(), role, scopes, per_second, sha256: hash(&token) });
        write(path, &toml::to_string(&tokens)?)?;
        Ok(token)
    }
}

/// The hash under which a token is kept.
pub(super) fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

/// Waits until no other process changes the token file. The lock is a file of its own next to it, because the token file is replaced.
fn lock(path: &Path) -> Result<fs::File> {
    let lock = path.with_added_extension("lock");
    let context = || format!("cannot lock the token file: {}", lock.display());
    let file = fs::OpenOptions::new().write(true).create(true).truncate(false).mode(MODE).open(&lock);
    let file = file.with_context(context)?;
    file.lock().with_context(context)?;
    Ok(file)
}

/// Replaces the file in one step, so that a console never reads half of it.
fn write(path: &Path, text: &str) -> Result<()> {
    let new = path.with_added_extension(format!("{}.new", hex(&rand::random::<[u8; 8]>())));
    let written = write_new(&new, text).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written.with_context(|| format!("cannot write the token file {}", path.display()))
}

fn write_new(new: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(MODE).open(new)?;
    // The mode at the creation is subject to the umask.
    file.set_permissions(fs::Permissions::from_mode(MODE))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    fn person(role: Role) -> Grant {
        Grant { role: Some(role), ..Grant::default() }
    }

    #[test]
    fn new_token_is_kept_as_a_hash_in_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let token = Tokens::add(&path, "ada", person(Role::Operator)).unwrap();
        let other = Tokens::add(&path, "ben", person(Role::Viewer)).unwrap();
        assert_ne!(token, other);
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&token[3..]) && text.contains(&hash(&token)), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Tokens::read(&path).unwrap().entries.len(), 2);
        assert!(
            Tokens::add(&path, "ada", person(Role::Admin)).unwrap_err().to_string().contains("already has a token")
        );
    }

    #[test]
    fn key_of_a_program_keeps_its_scopes_and_rate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let scopes = vec![Scope::Read, Scope::Enqueue("mail".to_owned())];
        let key = Grant { scopes: scopes.clone(), per_second: Some(5), role: None };
        Tokens::add(&path, "shop", key).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("enqueue:mail"), "{text}");
        let read = Tokens::read(&path).unwrap();
        assert_eq!((&read.entries[0].scopes, read.entries[0].per_second), (&scopes, Some(5)));
        fs::write(&path, text.replace("enqueue:mail", "write")).unwrap();
        assert!(Tokens::read(&path).unwrap_err().to_string().contains("unknown scope"));
    }

    #[test]
    fn readable_or_damaged_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        Tokens::add(&path, "ada", person(Role::Operator)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Tokens::read(&path).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "key = \"00\"\n").unwrap();
        assert!(Tokens::read(&path).unwrap_err().to_string().contains("64 hexadecimal digits"));
    }
}
