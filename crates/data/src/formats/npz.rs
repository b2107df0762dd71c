//! `X.npz`: a zip archive of npy files. `X.npz:member` names one of them.

use std::{fs::File, io::BufReader, path::Path};

use taste_choice::Choice;
use zip::{CompressionMethod, ZipArchive};

use super::{
    Format, Found,
    array::{Array, ArraySource},
    ends, folder,
    joined::Joined,
    npy,
};
use crate::{
    Error, Options,
    origin::{Member, Origin},
    source::Source,
};

pub(super) const FORMAT: Format = Format {
    choice: Choice {
        name: "npz",
        usage: "x.npz, or x.npz:MEMBER",
        about: "arrays of NumPy in an archive; labels in the member y, labels or target",
    },
    endings: &[".npz"],
    files: npy::FORMAT.files,
    starts: Some(|bytes| bytes.starts_with(b"PK")),
    is_text: false,
    in_folder: |name| ends(name, &[".npz"]),
    together: Some(folder::by_number),
    open,
};

fn open(found: &Found, options: &Options) -> Result<Box<dyn Source>, Error> {
    let path = found.origin.path();
    let members = members(path)?;
    let names = || members.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", ");
    let others: Vec<&Member> = members.iter().filter(|m| !is_label(&m.name)).collect();
    let array = |member: &Member| -> Result<Array, Error> {
        npy::array(&Origin::member(path, member.clone()))
    };
    if found.member.is_none() && others.len() > 1 && (options.only_kept || asked(options, &members))
    {
        return side_by_side(found, &members, options);
    }
    let samples = match (&found.member, &others[..], &members[..]) {
        (Some(wanted), ..) => members.iter().find(|m| m.name == *wanted).ok_or_else(|| {
            Error::at(path, format!("no member {wanted:?}; there are {}", names()))
        })?,
        (None, [one], _) => one,
        (None, [], [one]) => one,
        (None, _, []) => return Err(Error::at(path, "the archive holds no arrays")),
        (None, _, [first, ..]) => {
            let (file, first) = (path.display(), &first.name);
            let message = format!("it holds {}; choose one, as {file}:{first}", names());
            return Err(Error::at(path, message));
        }
    };
    let labels = labels_of(&samples.name, &members).filter(|_| options.labels);
    let labels = labels.map(array).transpose()?;
    let samples = array(samples)?;
    // Labels of another part, as of the training data, are no error.
    let labels = labels.filter(|l| l.shape.iter().product::<usize>() == samples.rows());
    Ok(Box::new(ArraySource::new(samples, labels)?))
}

/// Whether members are asked for by name, and all are there.
fn asked(options: &Options, members: &[Member]) -> bool {
    let is_there = |name: &String| members.iter().any(|m| m.name == *name);
    !options.columns.is_empty() && options.columns.iter().all(is_there)
}

/// Members that are inputs of a model, side by side.
fn side_by_side(
    found: &Found,
    members: &[Member],
    options: &Options,
) -> Result<Box<dyn Source>, Error> {
    let path = found.origin.path();
    let opened = |member: &Member| -> Result<(String, Array), Error> {
        Ok((member.name.clone(), npy::array(&Origin::member(path, member.clone()))?))
    };
    let labels = members.iter().find(|m| is_label(&m.name) && options.labels);
    let labels = labels.map(opened).transpose()?.map(|(_, labels)| labels);
    let chosen: Vec<&Member> = if options.only_kept {
        members.iter().filter(|m| !is_label(&m.name)).collect()
    } else {
        let named = |name: &String| members.iter().find(|m| m.name == *name);
        options.columns.iter().filter_map(named).collect()
    };
    let arrays = chosen.into_iter().map(opened).collect::<Result<Vec<_>, _>>()?;
    let length = options.sequences.as_ref().map(|s| s.length);
    Ok(Box::new(Joined::new(&found.origin, arrays, labels, length)?))
}

/// The arrays of an archive, in its order.
fn members(path: &Path) -> Result<Vec<Member>, Error> {
    let file = File::open(path).map_err(|e| Error::at(path, e))?;
    let broken = |e| Error::at(path, format!("the zip archive can't be read: {e}"));
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(broken)?;
    let mut members = Vec::new();
    for number in 0..archive.len() {
        let entry = archive.by_index_raw(number).map_err(broken)?;
        let name = entry.name().map_err(broken)?;
        let Some(name) = name.strip_suffix(".npy") else { continue };
        let refused = |what: &str| Err(Error::at(path, format!("member {name:?} is {what}")));
        let deflated = match entry.compression() {
            _ if entry.encrypted() => return refused("encrypted"),
            CompressionMethod::Stored => false,
            CompressionMethod::DEFLATE => true,
            _ => return refused("compressed in a way that NumPy does not use"),
        };
        let Some(start) = entry.data_start() else { return refused("not to be found") };
        members.push(Member {
            name: name.to_owned(),
            start,
            stored: entry.compressed_size(),
            deflated,
            crc: entry.crc32(),
        });
    }
    Ok(members)
}

fn is_label(name: &str) -> bool {
    let name = name.to_lowercase();
    matches!(name.as_str(), "y" | "label" | "labels" | "target" | "targets")
        || name.starts_with("y_")
}

/// The labels of `x` are `y`, those of `x_train` are `y_train`; `labels` and the like go with any name.
fn labels_of<'a>(samples: &str, members: &'a [Member]) -> Option<&'a Member> {
    let lower = samples.to_lowercase();
    let paired = lower.strip_prefix('x').map(|rest| format!("y{rest}"));
    let general = |m: &&Member| is_label(&m.name) && !m.name.to_lowercase().starts_with("y_");
    let same = |m: &&Member| Some(m.name.to_lowercase()) == paired;
    let other = |m: &&Member| m.name != samples;
    let mut found = members.iter().filter(other).filter(same);
    found.next().or_else(|| members.iter().filter(other).find(general))
}
