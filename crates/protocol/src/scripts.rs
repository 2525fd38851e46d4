//! `scripts!`: the scripts of a capability as a table.

/// A static for each script, and a list of them. A row has the name of the script's file, its folder in `scripts/`, the flags of
/// [`Script::with`](evenkeel_link::Script::with), and the parts in `shared/` that are prepended. The first line says where both folders are.
macro_rules! scripts {
    (
        $(#[$attribute:meta])*
        $list_vis:vis const $list:ident in $root:literal;
        $($vis:vis static $script:ident = $name:literal $(in $folder:literal)?, $flags:literal, [$($part:literal),*];)+
    ) => {
        $($vis static $script: evenkeel_link::Script = evenkeel_link::Script::with(
            $name,
            $flags,
            &[$(include_str!(concat!($root, "shared/", $part, ".lua"))),*],
            include_str!(concat!($root, "scripts/", $($folder, "/",)? $name, ".lua")),
        );)+

        $(#[$attribute])*
        $list_vis const $list: [&evenkeel_link::Script; [$($name),+].len()] = [$(&$script),+];
    };
}
