//! The commands of the test kit for the task runner: `park` (the servers of a test run), `mutants` (the table, as JSON) and the
//! demonstrations.

use anyhow::{Result, bail};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["park"] => testkit::park::serve(std::io::stdin(), std::io::stdout()).await,
        ["demo", "stale", seed, json] => demo_stale(seed.parse()?, json == &"json").await,
        ["mutants"] => Ok(serde_json::to_writer_pretty(std::io::stdout(), &testkit::mutants::all())?),
        _ => bail!("usage: evenkeel-testkit park | mutants | demo stale SEED text|json"),
    }
}

async fn demo_stale(seed: u64, json: bool) -> Result<()> {
    // The demonstration has its own runtime, whose time is paused.
    let rows = tokio::task::spawn_blocking(move || testkit::demo::stale::run(seed)).await??;
    if json {
        for row in &rows {
            println!("{}", serde_json::to_string(row)?);
        }
    } else {
        print!("{}", testkit::demo::stale::render(&rows, seed));
    }
    Ok(())
}
