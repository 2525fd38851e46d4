//! A system user for servers that refuse to run as root.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

/// In order of preference: the user of the server's package, then the one that owns nothing.
const NAMES: [&str; 2] = ["postgres", "nobody"];

/// A user id and a group id, as in `/etc/passwd` below a root folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct User {
    pub(super) id: u32,
    pub(super) group: u32,
}

impl User {
    /// An unprivileged user if this process runs as root, otherwise `None`: the server then runs as the same user.
    pub(super) fn unprivileged(root: Option<&Path>) -> Result<Option<User>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let file = root.unwrap_or(Path::new("/")).join("etc/passwd");
        let users = fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
        let user = NAMES.iter().find_map(|name| users.lines().find_map(|line| parse(line, name)));
        user.map(Some).with_context(|| format!("{} names neither {} nor {}", file.display(), NAMES[0], NAMES[1]))
    }

    /// Makes this user the owner of a file or folder.
    pub(super) fn own(self, path: &Path) -> Result<()> {
        chown(path, Some(self.id), Some(self.group)).with_context(|| format!("could not chown {}", path.display()))
    }
}

/// Permits other users to traverse the folder.
pub(super) fn let_through(folder: &Path) -> Result<()> {
    Ok(fs::set_permissions(folder, fs::Permissions::from_mode(0o711))?)
}

/// `name:password:id:group:...`
fn parse(line: &str, name: &str) -> Option<User> {
    let mut fields = line.strip_prefix(name)?.strip_prefix(':')?.split(':').skip(1);
    Some(User { id: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
}
