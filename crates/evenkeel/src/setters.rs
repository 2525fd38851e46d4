//! `setters!`: the methods of a builder that store one setting each, as a table.

/// Methods that take a builder, store the value after `=` in the field, and return the builder.
macro_rules! setters {
    ($($(#[$attribute:meta])*
        pub fn $name:ident($($argument:ident: $type:ty),+) => $($field:ident).+ = $value:expr;)+
    ) => {
        $($(#[$attribute])*
        pub fn $name(mut self, $($argument: $type),+) -> Self {
            self.$($field).+ = $value;
            self
        })+
    };
}
