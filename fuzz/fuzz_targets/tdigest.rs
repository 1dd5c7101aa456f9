#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| splitbloom_fuzz::tdigest::tdigest(bytes));
