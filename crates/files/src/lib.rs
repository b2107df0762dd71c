//! Files that appear whole or not at all, whatever happens while they are written, and words about files.

pub mod message;
mod target;
mod unnamed;

use std::{
    fs::{self, File},
    io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use target::{Target, folder_of};

/// A file that takes its name when it is committed; what had that name before stays until then. If it is dropped
/// before, nothing remains of it.
///
/// Where the system allows, the file has no name at all until it is whole, so that a process that is killed leaves
/// nothing behind; elsewhere it has a hidden name beside its target.
///
/// ```
/// use std::io::Write;
/// # let folder = std::env::temp_dir();
/// let mut file = taste_files::AtomicFile::create(&folder.join("taste-report.txt"))?;
/// file.write_all(b"all is well")?;
/// file.commit()?;
/// # std::fs::remove_file(folder.join("taste-report.txt"))?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    file: BufWriter<File>,
    /// The hidden name, if it has one.
    hidden: Option<PathBuf>,
    target: PathBuf,
}

impl AtomicFile {
    /// Starts a file; its folder must be there. A link stays, and what it points to is replaced, by a file that the same
    /// people may read and write. A folder, a pipe, a device or a file that may not be changed is refused: the error reads as
    /// the rest of a sentence that starts with the file's name.
    pub fn create(path: &Path) -> io::Result<Self> {
        let Target { path: target, permissions } = Target::of(path)?;
        let (file, hidden) = match unnamed::create(folder_of(&target)) {
            Some(file) => (file, None),
            None => match beside(&target, |path| File::create_new(path)) {
                Ok((file, hidden)) => (file, Some(hidden)),
                Err(e) if e.kind() == ErrorKind::PermissionDenied => {
                    return Err(io::Error::new(e.kind(), "files may not be made in its folder"));
                }
                Err(e) => return Err(e),
            },
        };
        let started = Self { file: BufWriter::new(file), hidden, target };
        if let Some(permissions) = permissions {
            started.file.get_ref().set_permissions(permissions)?;
        }
        Ok(started)
    }

    /// Gives the file its name.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        let file = self.file.get_ref();
        file.sync_all()?;
        if self.hidden.is_none() {
            match unnamed::link(file, &self.target) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                done => return done,
            }
            // A name is taken over by a rename alone.
            let ((), hidden) = beside(&self.target, |path| unnamed::link(file, path))?;
            self.hidden = Some(hidden);
        }
        match &self.hidden {
            Some(hidden) => fs::rename(hidden, &self.target),
            None => Ok(()),
        }
    }

    /// The name that the file will have.
    pub fn path(&self) -> &Path {
        &self.target
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After a commit the hidden name is gone and this does nothing.
        if let Some(hidden) = &self.hidden {
            let _ = fs::remove_file(hidden);
        }
    }
}

/// Makes something under a hidden name beside a file that no other has.
fn beside<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, PathBuf)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let hidden = target.with_file_name(format!(".taste-{}-{number}.tmp", process::id()));
        match make(&hidden) {
            Ok(made) => return Ok((made, hidden)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    fn refusal(path: &Path) -> String {
        AtomicFile::create(path).expect_err("refused").to_string()
    }

    #[test]
    fn what_can_not_be_written_is_said_before_anything_is() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(refusal(folder.path()), "it is a folder, not a file");
        let nowhere = refusal(&folder.path().join("no/where.txt"));
        assert!(nowhere.starts_with("there is no folder") && nowhere.ends_with("no"), "{nowhere}");
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    #[cfg(unix)]
    fn links_and_permissions_are_respected() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real.txt"), folder.path().join("link.txt"));
        fs::write(&real, "old").expect("written");
        let set = |mode: u32| fs::set_permissions(&real, fs::Permissions::from_mode(mode));
        set(0o640).expect("set");
        symlink("real.txt", &link).expect("a link");
        let mut file = AtomicFile::create(&link).expect("a file");
        file.write_all(b"new").expect("written");
        file.commit().expect("committed");
        assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
        assert_eq!(fs::read_to_string(&real).expect("read"), "new");
        assert_eq!(fs::metadata(&real).expect("a file").permissions().mode() & 0o777, 0o640);
        set(0o440).expect("set");
        assert_eq!(refusal(&link), "it is there already and may not be changed");
        let dangling = folder.path().join("dangling.txt");
        symlink("gone.txt", &dangling).expect("a link");
        assert_eq!(refusal(&dangling), "it is a link to gone.txt, which is not there");
        assert_eq!(refusal(Path::new("/dev/null")), "it is a pipe or a device, not a file");
    }

    #[test]
    fn a_file_appears_when_it_is_committed_and_replaces_what_was_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.txt");
        for text in ["first", "second, which is longer", "third"] {
            let before = fs::read(&path).ok();
            let mut file = AtomicFile::create(&path).expect("a file");
            file.write_all(b"12345678").expect("written");
            file.seek(SeekFrom::Start(0)).expect("sought");
            assert_eq!(fs::read(&path).ok(), before);
            drop(file);
            assert_eq!(fs::read(&path).ok(), before);
            let mut file = AtomicFile::create(&path).expect("a file");
            file.write_all(text.as_bytes()).expect("written");
            assert_eq!(file.path(), path);
            file.commit().expect("committed");
            assert_eq!(fs::read_to_string(&path).expect("a file"), text);
            assert_eq!(names(folder.path()), ["a.txt"]);
        }
    }

    #[test]
    fn a_hidden_name_does_as_well() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.txt");
        let start = || {
            let (file, hidden) = beside(&path, |p| File::create_new(p)).expect("a file");
            let target = path.clone();
            AtomicFile { file: BufWriter::new(file), hidden: Some(hidden), target }
        };
        drop(start());
        assert!(names(folder.path()).is_empty());
        for text in ["first", "second"] {
            let mut file = start();
            file.write_all(text.as_bytes()).expect("written");
            file.commit().expect("committed");
            assert_eq!(fs::read_to_string(&path).expect("a file"), text);
            assert_eq!(names(folder.path()), ["a.txt"]);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn on_linux_nothing_is_seen_before_the_commit() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = AtomicFile::create(&folder.path().join("a.txt")).expect("a file");
        // File systems without unnamed files are the exception that the other test covers.
        assert_eq!(names(folder.path()).len(), usize::from(file.hidden.is_some()));
    }
}
