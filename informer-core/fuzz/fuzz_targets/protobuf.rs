//! Fuzzes protobuf.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| informer_core::source::fuzzing::protobuf(input));
