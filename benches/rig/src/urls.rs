//! A list of URLs as a crawler has them: distinct, and 60 bytes long on average.
//!
//! ```text
//!   https://www.example.org/ articles/2024/reviews/photographs/latest 0f3c…16 digits
//!   24 bytes                 0 to 40 bytes of these                   of splitmix64(number)
//! ```

use splitbloom_harness::splitmix64;

const HOST: &[u8; 24] = b"https://www.example.org/";
/// A URL contains the first 0 to 40 bytes of this path, 20 on average.
const PATH: &[u8; 40] = b"articles/2024/reviews/photographs/latest";
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends the URL of a number, with a line feed. The digits alone are different for each number.
pub fn write_url(number: u64, to: &mut Vec<u8>) {
    let mixed = splitmix64(number);
    // The low bits are in the digits as well, but what matters is only that lengths vary.
    let len = mixed % (PATH.len() as u64 + 1);
    to.extend_from_slice(HOST);
    to.extend_from_slice(&PATH[..len as usize]);
    let digit = |place: u32| DIGITS[(mixed >> (60 - 4 * place) & 15) as usize];
    to.extend((0..16).map(digit));
    to.push(b'\n');
}
