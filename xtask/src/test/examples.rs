//! Runs every example and compares its output with its `.out` file.

use super::Park;
use crate::shell::{self, cargo};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "crates/evenkeel/examples";

pub(crate) fn run(park: &Park) -> Result<()> {
    let folder = shell::root().join(FOLDER);
    let examples = names(&folder)?;
    // With the features of the whole workspace, so that existing builds are reused.
    shell::run(&mut cargo(&["build", "--workspace", "--examples"]))?;
    let built = shell::target()?.join("debug/examples");
    for name in &examples {
        let expected = folder.join(name).with_extension("out");
        let expected = std::fs::read_to_string(&expected)
            .with_context(|| format!("{FOLDER}/{name}.out, the expected output of the example, is missing"))?;
        let mut command = Command::new(built.join(name));
        println!("$ {}", shell::line(&command));
        let output = command.envs(park.addresses()).output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!("the example {name} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        if printed != expected {
            bail!("the output of the example {name} differs from {FOLDER}/{name}.out:\n{printed}");
        }
    }
    println!("{} examples printed the expected output", examples.len());
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
