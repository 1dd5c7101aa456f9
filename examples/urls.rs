//! Prints URLs, distinct and 60 bytes long on average, to try the tool with:
//!
//!     cargo run --release --example urls 10000000 > urls.txt

use splitbloom_rig::write_url;
use std::error::Error;
use std::io::{stdout, Write};

fn main() -> Result<(), Box<dyn Error>> {
    let count: u64 = std::env::args().nth(1).ok_or("how many?")?.parse()?;
    let (mut out, mut urls) = (stdout().lock(), Vec::new());
    for number in 0..count {
        write_url(number, &mut urls);
        if urls.len() > 1 << 16 || number + 1 == count {
            out.write_all(&urls)?;
            urls.clear();
        }
    }
    Ok(())
}
