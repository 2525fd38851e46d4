//! The peers that are written in Python, and the packages they need.

use crate::peer::FOLDER;
use anyhow::{Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// Exits with an error if a package named on its command line is missing or of another version: a result names the version that
/// was measured.
const PROBE: &str = "import sys\nfrom importlib.metadata import version\n\
                     sys.exit(any(version(name) != wanted for name, wanted in (need.split('==') for need in sys.argv[1:])))";

/// Runs the script `name` of bench/peers by the python that `variable` names, which has exactly the packages that are needed.
pub(crate) fn script(name: &str, variable: &str, needs: &str) -> Result<Command> {
    let python = std::env::var_os(variable).unwrap_or_else(|| "python3".into());
    let mut probe = Command::new(&python);
    probe.args(["-c", PROBE]).args(needs.split(' ')).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        bail!("install it with `pip install {needs}`; {variable} selects the python that has it");
    }
    let mut command = Command::new(python);
    command.arg(Path::new(FOLDER).join(name));
    Ok(command)
}
