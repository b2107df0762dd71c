//! Published weights. The files in `fixtures/imports` and what they should give are from `fixtures/make_imports.py`.

mod common;
mod hostile;
mod resnet;
mod unet;
