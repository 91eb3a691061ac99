//! Fuzzes the splitter of list bodies.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| informer_core::source::fuzzing::list_splitter(input));
