//! Jobs with rows (`Durability::Sql`): the row decides, whatever the store has lost.

mod agree;
mod attempts;
mod desk;
mod operators;
mod restarted;
pub(crate) mod robustness;
mod row_decides;
mod row_decides_kills;
mod sweeps;
