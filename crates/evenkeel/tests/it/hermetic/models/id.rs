//! The conformance suite of worker ids on the model, which is the embedded backend.

use testkit::conformance::id::Rig;

testkit::id_suite!(Rig::memory);
