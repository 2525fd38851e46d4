//! Runs every example and compares what it prints with the `.out` file beside it.

use super::Park;
use crate::shell::{self, cargo};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "crates/evenkeel/examples";

pub(crate) fn run(park: &Park) -> Result<()> {
    let folder = shell::root().join(FOLDER);
    let examples = names(&folder)?;
    // Together with everything else, so that they share what is built already.
    shell::run(&mut cargo(&["build", "--workspace", "--examples"]))?;
    let built = shell::target()?.join("debug/examples");
    for name in &examples {
        let wanted = folder.join(name).with_extension("out");
        let wanted = std::fs::read_to_string(&wanted)
            .with_context(|| format!("an example has its output beside it, and {FOLDER}/{name}.out is missing"))?;
        let mut command = Command::new(built.join(name));
        println!("$ {}", shell::line(&command));
        let output = command.envs(park.addresses()).output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("the example {name} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        if printed != wanted {
            bail!("the example {name} printed something else than {FOLDER}/{name}.out:\n{printed}");
        }
    }
    println!("{} examples print what they should", examples.len());
    Ok(())
}

fn names(folder: &Path) -> Result<Vec<String>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "rs"));
    files.sort();
    Ok(files.iter().filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())).collect())
}
