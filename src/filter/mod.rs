pub mod error;
pub mod hash;
pub mod model;
pub mod segments;
pub mod sizing;
pub mod split_bloom;
pub mod sub_bitmap;
