//! `evenkeel ps`: the processes that report on a Redis. `figures.rs` adds their reports up, for the console, too; `tables.rs` makes tables of
//! them, for `evenkeel top`, too.

pub(crate) mod figures;
pub(crate) mod tables;

use crate::connect::OnRedis;
use crate::output::Output;
use anyhow::Result;
use evenkeel::Keel;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    on: OnRedis,
}

pub(crate) async fn run(arguments: Arguments) -> ExitCode {
    arguments.on.run(list).await
}

async fn list(keel: &Keel, output: Output) -> Result<bool> {
    tables::processes(keel).await?.print(output)?;
    Ok(true)
}
