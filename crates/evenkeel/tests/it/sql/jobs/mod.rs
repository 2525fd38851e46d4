//! Jobs with rows (`Durability::Sql`): the row decides, whatever the store has lost.

mod agree;
mod attempts;
mod judged;
mod judged_kills;
mod operators;
mod sweeps;
