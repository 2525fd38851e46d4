//! `evenkeel-testkit park`: the servers of a test run, for whoever starts the tests.

use anyhow::{Result, bail};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["park"] => testkit::park::serve(std::io::stdin(), std::io::stdout()).await,
        _ => bail!("usage: evenkeel-testkit park"),
    }
}
