//! Code as tables: `setters!`, the methods of a builder that store one setting each, and `metrics!`, the metric handles of a part.

/// Methods that take a builder, store the value after `=` in the field, and return the builder.
macro_rules! setters {
    ($($(#[$attribute:meta])*
        pub fn $name:ident($($argument:ident: $type:ty),*) => $($field:ident).+ = $value:expr;)+
    ) => {
        $($(#[$attribute])*
        pub fn $name(mut self, $($argument: $type),*) -> Self {
            self.$($field).+ = $value;
            self
        })+
    };
}

/// A struct of metric handles, and `register`, which creates the handle after each `=`. With owners in parentheses, `register` takes
/// their names, and an owner's call returns its name for a label.
macro_rules! metrics {
    (
        $(#[$attribute:meta])*
        $vis:vis struct $name:ident $(($($owner:ident),+))? {
            $($(#[doc = $doc:literal])* $(#[cfg($cfg:meta)])? $field_vis:vis $field:ident: $type:ty = $handle:expr;)+
        }
    ) => {
        $(#[$attribute])*
        $vis struct $name {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? $field_vis $field: $type,)+
        }

        impl $name {
            $vis fn register($($($owner: &std::sync::Arc<str>),+)?) -> Self {
                $($(let $owner = || std::sync::Arc::clone($owner);)+)?
                Self { $($(#[cfg($cfg)])? $field: $handle,)+ }
            }
        }
    };
}
