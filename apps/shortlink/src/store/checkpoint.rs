//! [`Checkpoint`]: where an import stands, kept beside the rows it brought.

/// Where the import of one source stands. The store keeps it in the same transaction as the rows, and looks into neither part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Names the import: same file, same options. At most 64 characters.
    pub source: String,
    /// What the import needs to go on.
    pub state: String,
}
