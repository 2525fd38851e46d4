//! What the task runner needs from the test kit: `park` (the servers of a test run) and `mutants` (the table, as JSON).

use anyhow::{Result, bail};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["park"] => testkit::park::serve(std::io::stdin(), std::io::stdout()).await,
        ["mutants"] => Ok(serde_json::to_writer_pretty(std::io::stdout(), testkit::mutants::TABLE)?),
        _ => bail!("usage: evenkeel-testkit park | mutants"),
    }
}
