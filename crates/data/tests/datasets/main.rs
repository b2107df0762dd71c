//! Data sets as users have them, written by the tests themselves.

mod arrays;
mod cells;
mod files;
mod hostile;
mod images;
mod kept;
mod labels;
mod mixed;
mod pictures;
mod prepare;
mod properties;
mod selections;
mod sequences;
mod tables;
mod writing;
