//! `scripts!`: the steps of a capability in Lua, as a table.

/// A static for each step, a list of them, and their library. A row has the name of the step's file, its folder, the flags of
/// [`Script::step`](evenkeel_link::Script::step), and the parts in `shared/` that it uses. The first lines say where `shared/` and the folder
/// of the steps are, and list all parts, each after those that it uses. A file in front of the step's own, as in `"member" + "acquire-3"`, runs before it.
macro_rules! scripts {
    (
        $(#[$attribute:meta])*
        $list_vis:vis const $list:ident in $root:literal, $steps:literal;
        library $library:literal of [$($all:literal),* $(,)?];
        $(
            $vis:vis static $script:ident = $(($before:literal))* $name:literal $(from $file:literal)? $(in $folder:literal)?, $flags:literal, [$($part:literal),* $(,)?];
        )+
    ) => {
        static LIBRARY: evenkeel_link::Library = evenkeel_link::Library::new(
            $library,
            &[$(include_str!(concat!($root, "shared/", $all, ".lua"))),*],
            &$list,
        );

        $($vis static $script: evenkeel_link::Script = evenkeel_link::Script::step(
            &LIBRARY,
            $name,
            $flags,
            &[$(include_str!(concat!($root, "shared/", $part, ".lua"))),*],
            scripts!(@source $root, $steps, [$($before)*], $name $(, from $file)? $(, in $folder)?),
        );)+

        $(#[$attribute])*
        $list_vis const $list: [&evenkeel_link::Script; [$($name),+].len()] = [$(&$script),+];
    };
    (@source $root:literal, $steps:literal, [$($before:literal)*], $name:literal $(, in $folder:literal)?) => {
        concat!($(include_str!($before),)* include_str!(concat!($root, $steps, $($folder, "/",)? $name, ".lua")))
    };
    (@source $root:literal, $steps:literal, [$($before:literal)*], $name:literal, from $file:literal) => {
        concat!($(include_str!($before),)* include_str!($file))
    };
}
