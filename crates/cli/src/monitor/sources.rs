//! Samples in files and folders, each counted once.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Result, anyhow, bail};
use sha2::{Digest, Sha256};
use taste_data::{FORMATS, Samples};
use taste_monitor::{FileId, Origin};

use super::Session;
use crate::{detect::tell_skipped, tell};

/// Between looks into a folder.
const PAUSE: Duration = Duration::from_millis(500);
/// How long text that ends within a line is left to its writer.
const UNENDED: Duration = Duration::from_secs(10);

/// Counts what a file or folder holds and is not counted yet.
pub(super) fn take(session: &mut Session<'_>, path: &Path) -> Result<()> {
    if !path.is_dir() {
        return file(session, path);
    }
    let all = listed(path)?;
    if all.is_empty() {
        bail!("{}: the folder holds no data", path.display());
    }
    each(session, &all, |_| true, |_, error| Err(error))
}

/// Counts files as they appear.
pub(super) fn watch(session: &mut Session<'_>, folder: &Path) -> Result<()> {
    if !folder.is_dir() {
        bail!("--watch {}: there is no such folder", folder.display());
    }
    // What files looked like when they were last looked at, and when they were counted.
    let (mut last, mut done) = (HashMap::new(), HashMap::new());
    let mut came = Instant::now();
    loop {
        let now: HashMap<PathBuf, Seen> = listed(folder)?
            .into_iter()
            .filter_map(|path| Some((path.clone(), seen(&path, last.get(&path))?)))
            .collect();
        let mut ready: Vec<(&Look, &PathBuf)> = now
            .iter()
            .filter(|(path, seen)| done.get(*path) != Some(&seen.look) && seen.is_whole(path))
            .map(|(path, seen)| (&seen.look, path))
            .collect();
        ready.sort();
        let ready: Vec<PathBuf> = ready.into_iter().map(|(_, path)| path.clone()).collect();
        if !ready.is_empty() {
            // One that is written to while others are read has its turn later.
            let is_calm = |path: &Path| seen(path, None).is_some_and(|s| s.look == now[path].look);
            each(session, &ready, is_calm, |path, error| {
                let hint = crate::hints::hint(&error, crate::hints::Reading::Detector);
                tell(&format!(
                    "warning: {}: left out: {error}{}",
                    path.display(),
                    hint.unwrap_or_default()
                ));
                match error.downcast_ref::<taste_monitor::Error>() {
                    Some(_) => Err(error),
                    None => Ok(()),
                }
            })?;
            came = Instant::now();
        }
        for path in ready {
            done.insert(path.clone(), now[&path].look.clone());
        }
        done.retain(|path, _| now.contains_key(path));
        if now.iter().any(|(path, seen)| done.get(path) != Some(&seen.look)) {
            came = Instant::now();
        }
        if now.len() > taste_monitor::REMEMBERED {
            bail!(
                "--watch {}: it holds {} files, more than {} are not remembered: move away those that are counted",
                folder.display(),
                now.len(),
                taste_monitor::REMEMBERED
            );
        }
        last = now;
        if session.args.idle.is_some_and(|s| came.elapsed() >= Duration::from_secs(s)) {
            return Ok(());
        }
        session.idle()?;
        thread::sleep(PAUSE);
    }
}

/// When a file was last changed, and its size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Look(SystemTime, u64);

/// What a file looks like, and since when.
#[derive(Clone, Debug)]
struct Seen {
    look: Look,
    since: Instant,
}

fn seen(path: &Path, before: Option<&Seen>) -> Option<Seen> {
    let found = fs::metadata(path).ok()?;
    let look = Look(found.modified().ok()?, found.len());
    let same = before.filter(|before| before.look == look);
    Some(same.cloned().unwrap_or_else(|| Seen { look, since: Instant::now() }))
}

impl Seen {
    /// Whether it is no longer being written, as far as can be told.
    fn is_whole(&self, path: &Path) -> bool {
        let calm = self.since.elapsed();
        calm >= UNENDED || (calm >= PAUSE && !ends_within_a_line(path))
    }
}

/// Whether a table of text ends in what may be a part of a row.
fn ends_within_a_line(path: &Path) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    let mut texts = FORMATS.iter().filter(|f| ["csv", "jsonl"].contains(&f.choice.name));
    let last = || {
        let (mut file, mut last) = (File::open(path).ok()?, [0]);
        file.seek(SeekFrom::End(-1)).ok()?;
        file.read_exact(&mut last).ok()?;
        Some(last[0])
    };
    texts.any(|f| f.endings.iter().any(|ending| name.ends_with(ending)))
        && last().is_some_and(|last| last != b'\n')
}

/// Files of data in a folder and those below it, in the order of names; hidden ones are left out.
fn listed(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let entries = fs::read_dir(folder).map_err(|e| anyhow!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| anyhow!("{}: {e}", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            all.extend(listed(&path)?);
        } else if FORMATS.iter().any(|f| ends(&name, f.endings)) {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

fn ends(name: &str, endings: &[&str]) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    endings.iter().any(|ending| name.ends_with(ending))
}

fn is_image(path: &Path) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    let images = FORMATS.iter().find(|f| f.choice.name == "image");
    images.is_some_and(|f| ends(&name, f.endings))
}

/// Counts files in their order, but for tables that are not ready when it is their turn; images, which are a sample each,
/// many at a time.
fn each(
    session: &mut Session<'_>,
    paths: &[PathBuf],
    is_ready: impl Fn(&Path) -> bool,
    mut failed: impl FnMut(&Path, anyhow::Error) -> Result<()>,
) -> Result<()> {
    let chunk = session.detection.chunk();
    for run in paths.chunk_by(|a, b| is_image(a) == is_image(b)) {
        if !is_image(&run[0]) {
            for path in run.iter().filter(|path| is_ready(path)) {
                file(session, path).or_else(|e| failed(path, e))?;
            }
            continue;
        }
        for some in run.chunks(chunk) {
            if images(session, some).is_ok() {
                continue;
            }
            // One of them can't be read: the others still count.
            for path in some {
                images(session, std::slice::from_ref(path)).or_else(|e| failed(path, e))?;
            }
        }
    }
    Ok(())
}

fn images(session: &mut Session<'_>, paths: &[PathBuf]) -> Result<()> {
    let mut ids = HashMap::new();
    let mut fresh = Vec::new();
    for path in paths {
        let (id, _) = identified(path, None)?;
        let known = session.monitor.cursor(&id.name);
        if known.is_none_or(|c| c.sha256 != id.sha256) {
            ids.insert(path.display().to_string(), id);
            fresh.push(path.clone());
        }
    }
    if fresh.is_empty() {
        return Ok(());
    }
    let data = session.detection.open_keeping(&fresh, &[])?;
    for chunk in data.chunks(session.detection.chunk())? {
        let chunk = chunk?;
        let names: Vec<String> =
            chunk.index.iter().map(|&i| data.row_name(i).unwrap_or_default()).collect();
        let files = names.iter().zip(&chunk.index).map(|(name, &i)| {
            let place = || fresh.get(data.place(i)).map(|p| p.display().to_string());
            let id = ids.get(name).or_else(|| ids.get(&place()?));
            id.cloned().ok_or_else(|| anyhow!("{name}: it is not one of the files"))
        });
        let files = files.collect::<Result<Vec<_>>>()?;
        session.take(chunk.values, names, Origin::Files { files })?;
    }
    if !session.args.with.run.quiet() {
        tell_skipped(&data);
    }
    Ok(())
}

/// Counts the rows of a file that are not counted yet.
fn file(session: &mut Session<'_>, path: &Path) -> Result<()> {
    let name = path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string();
    let cursor = session.monitor.cursor(&name);
    let (id, before) = identified(path, cursor.map(|c| c.bytes))?;
    let (done, grown_from) = match cursor {
        Some(c) if c.sha256 == id.sha256 => (c.rows, None),
        Some(c) if before == Some(c.sha256) => (c.rows, before),
        _ => (0, None),
    };
    let keep: Vec<String> = session.args.key.iter().cloned().collect();
    let data = session.detection.open_keeping(std::slice::from_ref(&path.to_owned()), &keep)?;
    let skip = usize::try_from(done).unwrap_or(usize::MAX);
    let chunks = data.chunks_where(session.detection.chunk(), Box::new(move |i| i >= skip))?;
    for chunk in chunks {
        let chunk = chunk?;
        let first = chunk.index.first().copied().unwrap_or(0) as u64;
        let origin = match chunk.kept.first() {
            Some(ids) => Origin::Each { name: path.display().to_string(), ids: ids.clone() },
            None => Origin::Rows { file: id.clone(), first, grown_from },
        };
        session.take(chunk.values, Vec::new(), origin)?;
    }
    if !session.args.with.run.quiet() {
        tell_skipped(&data);
    }
    Ok(())
}

/// What a file is, and the digest of its first bytes.
fn identified(path: &Path, before: Option<u64>) -> Result<(FileId, Option<[u8; 32]>)> {
    let wrong = |e: std::io::Error| anyhow!("{}: it can't be read: {e}", path.display());
    let mut file = File::open(path).map_err(wrong)?;
    let (mut hash, mut bytes, mut first) = (Sha256::new(), 0u64, None);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let left = before.filter(|b| *b > bytes).map_or(u64::MAX, |b| b - bytes);
        let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = file.read(&mut buffer[..most]).map_err(wrong)?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        bytes += read as u64;
        if before == Some(bytes) {
            first = Some(hash.clone().finalize().into());
        }
    }
    let name = path.canonicalize().map_err(wrong)?.display().to_string();
    Ok((FileId { name, bytes, sha256: hash.finalize().into() }, first))
}
