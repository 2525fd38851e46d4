//! A system user for servers that refuse to run as root.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

/// Preferred first: a user made for the server, then the one that owns nothing.
const NAMES: [&str; 2] = ["postgres", "nobody"];

/// A user and its group, as the system below a root folder numbers them.
#[derive(Clone, Copy, Debug)]
pub(super) struct User {
    pub(super) id: u32,
    pub(super) group: u32,
}

impl User {
    /// Somebody unprivileged if we are root, else `None`: the server then runs as we do.
    pub(super) fn unprivileged(root: Option<&Path>) -> Result<Option<User>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let file = root.unwrap_or(Path::new("/")).join("etc/passwd");
        let users = fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
        let user = NAMES.iter().find_map(|name| users.lines().find_map(|line| parse(line, name)));
        user.map(Some).with_context(|| format!("{} names neither {} nor {}", file.display(), NAMES[0], NAMES[1]))
    }

    /// Gives a file or folder to this user.
    pub(super) fn own(self, path: &Path) -> Result<()> {
        chown(path, Some(self.id), Some(self.group)).with_context(|| format!("could not chown {}", path.display()))
    }
}

/// Lets a user who does not own the folder go through it to what it owns inside.
pub(super) fn let_through(folder: &Path) -> Result<()> {
    Ok(fs::set_permissions(folder, fs::Permissions::from_mode(0o711))?)
}

/// `name:password:id:group:...`
fn parse(line: &str, name: &str) -> Option<User> {
    let mut fields = line.strip_prefix(name)?.strip_prefix(':')?.split(':').skip(1);
    Some(User { id: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
}
