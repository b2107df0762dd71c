//! Arrays in files, read and written a part at a time, so that memory does not grow with the number of
//! samples.

pub mod npy;
