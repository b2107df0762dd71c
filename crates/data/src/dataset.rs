use std::{
    collections::HashSet,
    fmt,
    path::{Path, PathBuf},
    slice,
    sync::Arc,
};

use taste_files::message::shape;

use crate::{
    Chunk, Chunks, Error, Keep, Labels, Options, Problem, Samples, formats,
    origin::Origin,
    prepare::Prepare,
    samples::refilled,
    source::{Batches, Source},
    standard,
};

/// Samples in a file or folder, or in several.
///
/// ```no_run
/// use taste_data::{Dataset, Options, Samples};
///
/// let options = Options { sample_shape: Some(vec![1, 28, 28]), ..Options::default() };
/// let digits = Dataset::open("t10k-images-idx3-ubyte.gz".as_ref(), &options)?;
/// for chunk in digits.chunks(256)? {
///     println!("{:?}", chunk?.values.shape());
/// }
/// # Ok::<(), taste_data::Error>(())
/// ```
#[derive(Debug)]
pub struct Dataset {
    name: String,
    parts: Vec<File>,
    /// By the place of the row, where labels came apart from the samples.
    labels: Option<Vec<i64>>,
}

/// One file, or one folder of images.
#[derive(Debug)]
struct File {
    name: String,
    source: Box<dyn Source>,
    prepare: Prepare,
    /// The numbers of classes in labels.
    options: Options,
}

impl File {
    /// Labels as the places of their classes among the outputs of the model.
    fn classes(&self, labels: Vec<i64>, index: &[usize]) -> Result<Vec<i64>, Error> {
        if self.options.numbers.is_empty() || self.source.labels_are_places() {
            return Ok(labels);
        }
        let place = |(label, index): (i64, &usize)| {
            self.options.place_of(label).map_err(|said| {
                let row = self.source.place(*index);
                let said = format!("the label of row {row} (counted from 0) is {said}");
                Error::new(&self.name, Problem::Labels(said))
            })
        };
        labels.into_iter().zip(index).map(place).collect()
    }
}

/// The most entries that a chunk holds, however many rows are asked for.
const MOST_CHUNK: usize = 1 << 26;

impl Dataset {
    /// Opens a file or folder in one of the [`FORMATS`](crate::FORMATS); most of them compressed with gzip or not.
    pub fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let sources = if path.is_dir() {
            formats::folder::open(path, options)?
        } else {
            vec![formats::open_file(path, options)?]
        };
        Self::of(&standard::shown(path), sources, options)
    }

    /// Bytes of a file that came without one, under a name for messages.
    pub(crate) fn from_bytes(
        name: &str,
        bytes: Arc<[u8]>,
        options: &Options,
    ) -> Result<Self, Error> {
        let source = formats::open_origin(Origin::memory(name, bytes), None, options)?;
        Self::of(name, vec![source], options)
    }

    fn of(name: &str, sources: Vec<Box<dyn Source>>, options: &Options) -> Result<Self, Error> {
        let prepared = |source: Box<dyn Source>| {
            let facts = source.facts();
            if let (Some(column), None, None) = (options.keep.first(), &facts.columns, &facts.taken)
            {
                return Err(Error::new(name, Problem::NoTable(column.clone())));
            }
            let prepare = Prepare::new(name, source.facts(), options)?;
            let numbers = options.numbers.clone();
            let options = Options { numbers, ..Options::default() };
            Ok(File { name: name.to_owned(), source, prepare, options })
        };
        let parts = sources.into_iter().map(prepared).collect::<Result<_, Error>>()?;
        Self { name: name.to_owned(), parts, labels: None }.checked()
    }

    /// Opens several files or folders as one set, one after the other.
    pub fn open_all(paths: &[PathBuf], options: &Options) -> Result<Self, Error> {
        let sets = paths.iter().map(|p| Self::open(p, options)).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
        let name = match names[..] {
            [first, .., last] if names.len() > 2 => format!("{first} … {last}"),
            _ => names.join(" and "),
        };
        let parts = sets.into_iter().flat_map(|set| set.parts).collect();
        Self { name, parts, labels: None }.checked()
    }

    /// Under another name, for messages.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// All parts must give samples of one shape.
    fn checked(self) -> Result<Self, Error> {
        let refused = |message: String| Error::new(&self.name, message);
        let Some(first) = self.parts.first() else {
            return Err(refused("no files are named".to_owned()));
        };
        let (wanted, columns) = (first.prepare.sample_shape(), &first.source.facts().columns);
        for part in &self.parts {
            let found = part.prepare.sample_shape();
            if found != wanted {
                let (wanted, found) = (shape(wanted), shape(found));
                return Err(refused(format!(
                    "samples of shape {wanted} and of {found} in one set"
                )));
            }
            if part.source.facts().columns != *columns {
                return Err(refused("its tables have different columns".to_owned()));
            }
        }
        Ok(self)
    }

    /// With labels that came apart from the samples, in place of any that the files hold: the numbers of classes, one
    /// for every row.
    pub fn with_labels(mut self, labels: &Labels) -> Result<Self, Error> {
        labels.check_count(self.rows()?, &self.name)?;
        self.labels = Some(labels.classes(None)?);
        Ok(self)
    }

    /// How many rows there are, those that are left out included.
    pub fn rows(&self) -> Result<usize, Error> {
        let read = self.len()?;
        Ok(read + self.parts.iter().map(|part| part.source.skipped_count()).sum::<usize>())
    }

    /// Whether samples are rows of a table with columns.
    pub fn is_table(&self) -> bool {
        self.parts.iter().any(|part| {
            let facts = part.source.facts();
            facts.columns.is_some() || facts.taken.is_some()
        })
    }

    /// The columns that hold lists of numbers, and the length of the longest in each.
    pub(crate) fn longest_lists(&self) -> Result<Vec<(String, usize)>, Error> {
        let lists = self.parts.iter().map(|part| part.source.longest_lists());
        Ok(lists.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// How many samples so far had lists longer than [`Sequences::length`](crate::Sequences::length), of which the rest was
    /// left out.
    pub fn cut_count(&self) -> usize {
        self.parts.iter().map(|part| part.source.cut_count()).sum()
    }

    /// The columns of a table that can come along as text.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.parts.first().map_or_else(Vec::new, |part| part.source.facts().texts.clone())
    }

    /// Options that name the columns which these samples are made of, so that other tables are read by the names of
    /// their columns, whatever their order and whatever else they hold.
    #[must_use]
    pub fn options_naming_columns(&self, options: &Options) -> Options {
        let taken = self.parts.first().and_then(|part| part.source.facts().taken.clone());
        let distinct =
            |names: &Vec<String>| names.iter().collect::<HashSet<_>>().len() == names.len();
        match taken.filter(distinct) {
            Some(columns) => {
                Options { columns, label: None, exclude: Vec::new(), ..options.clone() }
            }
            None => options.clone(),
        }
    }

    /// Whether files hold bytes, which are scaled to 0..1 unless [`Options::raw`] leaves them as they are.
    pub fn holds_bytes(&self) -> bool {
        self.parts.iter().any(|part| part.source.facts().bytes)
    }

    /// The sizes of one sample as the first file holds it.
    pub fn file_sample_shape(&self) -> &[usize] {
        self.parts.first().map_or(&[], |part| &part.source.facts().sample)
    }

    /// Whether the first file holds images with their channels last; samples have them first, unless a model wants
    /// otherwise.
    pub fn has_channels_last(&self) -> bool {
        self.parts.first().is_some_and(|part| part.prepare.has_channels_last())
    }

    /// What was left out so far (file or line, and why), with [`Options::skip_bad`].
    pub fn skipped(&self) -> Vec<(String, String)> {
        self.parts.iter().flat_map(|part| part.source.skipped()).collect()
    }

    /// What a sample is called, by its number: the path of an image. With [`Options::skip_bad`] this is known of
    /// samples that have been read.
    pub fn row_name(&self, index: usize) -> Option<String> {
        let (_, part, index) = self.part_of(index)?;
        part.source.row_name(index)
    }

    /// The place of a sample among all rows and files, those that were left out included. It differs from the sample's
    /// number with [`Options::skip_bad`], and is known of samples that have been read.
    pub fn place(&self, index: usize) -> usize {
        match self.part_of(index) {
            Some((before, part, own)) => before + part.source.place(own),
            None => index,
        }
    }

    fn labelled(&self, chunk: Chunk) -> Chunk {
        match &self.labels {
            Some(labels) => {
                let own = chunk.index.iter().map(|&index| labels.get(self.place(index)).copied());
                Chunk { labels: own.collect(), ..chunk }
            }
            None => chunk,
        }
    }

    /// The part that a sample is in, its number there, and how many rows or files the parts before it have.
    fn part_of(&self, index: usize) -> Option<(usize, &File, usize)> {
        let (mut before, mut index) = (0, index);
        for part in &self.parts {
            match part.source.count() {
                Some(count) if index >= count => {
                    index -= count;
                    before += count + part.source.skipped_count();
                }
                _ => return Some((before, part, index)),
            }
        }
        None
    }
}

impl fmt::Display for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Samples for Dataset {
    fn name(&self) -> &str {
        &self.name
    }

    fn sample_shape(&self) -> &[usize] {
        self.parts.first().map_or(&[], |part| part.prepare.sample_shape())
    }

    fn count(&self) -> Option<usize> {
        self.parts.iter().map(|part| part.source.count()).sum()
    }

    fn place(&self, index: usize) -> usize {
        Self::place(self, index)
    }

    fn columns(&self) -> Option<&[String]> {
        let part = self.parts.first()?;
        part.prepare.columns().or(part.source.facts().columns.as_deref())
    }

    fn chunks(&self, rows: usize) -> Result<Chunks<'_>, Error> {
        self.chunks_where(rows, Box::new(|_| true))
    }

    fn chunks_where<'a>(&'a self, rows: usize, keep: Keep<'a>) -> Result<Chunks<'a>, Error> {
        let rows = self.parts.iter().map(File::most_rows).fold(rows.max(1), usize::min);
        let keep = Arc::from(keep);
        let mut pass = Pass { parts: self.parts.iter(), current: None, first: 0, rows, keep };
        let chunks = std::iter::from_fn(move || pass.next().transpose());
        let chunks = chunks.map(|chunk| chunk.map(|chunk| self.labelled(chunk)));
        Ok(refilled(&self.name, chunks, rows))
    }
}

impl File {
    /// How many samples a chunk may hold.
    fn most_rows(&self) -> usize {
        let size = |shape: &[usize]| shape.iter().product::<usize>().max(1);
        let entries = size(&self.source.facts().sample).max(size(self.prepare.sample_shape()));
        (MOST_CHUNK / entries).max(1)
    }
}

/// A pass through all parts.
struct Pass<'a> {
    /// What comes after the current part.
    parts: slice::Iter<'a, File>,
    current: Option<(&'a File, Batches<'a>)>,
    /// The number of the current part's first sample.
    first: usize,
    rows: usize,
    keep: Arc<dyn Fn(usize) -> bool + Send + Sync + 'a>,
}

impl Pass<'_> {
    fn next(&mut self) -> Result<Option<Chunk>, Error> {
        loop {
            let (part, batches) = match &mut self.current {
                Some(current) => current,
                none => {
                    let Some(part) = self.parts.next() else { return Ok(None) };
                    let (keep, first) = (Arc::clone(&self.keep), self.first);
                    let keep = Box::new(move |own| keep(first + own));
                    none.insert((part, part.source.batches(self.rows, keep)?))
                }
            };
            if let Some(batch) = batches.next() {
                let batch = batch?;
                if batch.index.is_empty() {
                    continue;
                }
                let labels = batch.labels.map(|own| part.classes(own, &batch.index)).transpose()?;
                let index = batch.index.iter().map(|own| self.first + own).collect();
                let columns = part.source.facts().columns.as_deref();
                let row = |sample: usize| part.source.place(batch.index[sample]);
                let values = part.prepare.samples(&part.name, batch.values, columns, row)?;
                return Ok(Some(Chunk { index, values, labels, kept: batch.kept }));
            }
            self.first += part.source.count().unwrap_or(0);
            self.current = None;
        }
    }
}
