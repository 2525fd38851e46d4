//! The locks' conformance suite on the model, which is the embedded backend.

use testkit::conformance::lock::Rig;

testkit::lock_suite!(Rig::memory);
