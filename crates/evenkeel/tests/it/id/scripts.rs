//! The conformance suite of worker ids on Redis.

use testkit::conformance::id::Rig;

testkit::id_suite!(Rig::redis);
