//! A bounded file for obligations that Redis could not take yet.
