//! What an experiment leaves: a page in Markdown, figures as SVG and PNG, tables as CSV, and the facts as JSON.

mod markdown;
mod table;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use taste_files::AtomicFile;
use taste_report::Figure;

use crate::{Error, Run, error::at};
pub(crate) use markdown::paragraph;
pub use table::{Cell, Table};

/// The page of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    pub(crate) name: &'static str,
    pub(crate) title: String,
    pub(crate) lead: String,
    pub(crate) command: String,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) numbers: Vec<Beside>,
    pub(crate) blocks: Vec<Block>,
}

/// Something that the paper says, or that we set out to reach, and whether it is so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// What is claimed.
    pub claim: String,
    /// Whether it is so.
    pub verdict: Verdict,
    /// What was seen, with its figures.
    pub seen: String,
}

/// Whether a claim is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is.
    Holds,
    /// Not everywhere.
    Partly,
    /// It is not.
    Fails,
    /// This run does not tell.
    Open,
}

impl Verdict {
    /// Whether it is so.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    /// As a page has it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Partly => "holds in part",
            Self::Fails => "does not hold",
            Self::Open => "open",
        }
    }
}

/// A number of ours beside the paper's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// What is measured.
    pub what: String,
    /// What the paper has; none if it has no number.
    pub paper: Option<f64>,
    /// What was found here; none if it could not be.
    pub here: Option<f64>,
    /// Why they differ, or why there is none.
    pub why: String,
}

/// A part of the page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    Heading(String),
    Paragraph(String),
    Figure { name: String, caption: String, svg: String, png: Vec<u8> },
    Table(Table),
}

/// What a summary needs to know of a page.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    pub(crate) title: String,
    pub(crate) command: String,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) numbers: Vec<Beside>,
}

impl Page {
    /// An empty page for the experiment of a run.
    pub fn new(run: &Run<'_>, title: impl Into<String>) -> Self {
        let engine = run.engine_used();
        let facts = [
            ("run", run.effort_name().to_owned()),
            ("seed", run.seed_value().to_string()),
            ("version", format!("taste {}", env!("CARGO_PKG_VERSION"))),
            ("engine", format!("{}, {} threads", engine.backend.name(), engine.threads)),
        ];
        Self {
            name: run.experiment().choice.name,
            title: title.into(),
            lead: String::new(),
            command: run.command(),
            facts: facts.map(|(name, fact)| (name.to_owned(), fact)).to_vec(),
            claims: Vec::new(),
            numbers: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// What the page is about, in a few sentences.
    pub fn lead(&mut self, text: impl Into<String>) {
        self.lead = text.into();
    }

    /// Something about how it was run: seeds, counts, models, versions.
    pub fn fact(&mut self, name: impl Into<String>, fact: impl Into<String>) {
        self.facts.push((name.into(), fact.into()));
    }

    /// A claim and whether it is so.
    pub fn claim(&mut self, claim: impl Into<String>, verdict: Verdict, seen: impl Into<String>) {
        self.claims.push(Claim { claim: claim.into(), verdict, seen: seen.into() });
    }

    /// A number of ours beside the paper's.
    pub fn beside(
        &mut self,
        what: impl Into<String>,
        paper: impl Into<Option<f64>>,
        here: impl Into<Option<f64>>,
        why: impl Into<String>,
    ) {
        let (what, why) = (what.into(), why.into());
        let here = here.into().filter(|v| v.is_finite());
        self.numbers.push(Beside { what, paper: paper.into(), here, why });
    }

    /// Begins a section.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    /// Some sentences.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Paragraph(text.into()));
    }

    /// A figure, which becomes `NAME.svg` and `NAME.png`.
    pub fn figure(
        &mut self,
        name: impl Into<String>,
        figure: &dyn Figure,
        caption: impl Into<String>,
    ) -> Result<(), Error> {
        let drawing = figure.draw();
        let (svg, png) = (drawing.to_svg(), drawing.to_png()?);
        let (name, caption) = (name.into(), caption.into());
        self.blocks.push(Block::Figure { name, caption, svg, png });
        Ok(())
    }

    /// A table, which becomes `NAME.csv` as well.
    pub fn table(&mut self, table: Table) {
        self.blocks.push(Block::Table(table));
    }

    /// The claims so far.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// The numbers beside the paper's so far.
    pub fn numbers(&self) -> &[Beside] {
        &self.numbers
    }

    /// A table by its name.
    pub fn table_named(&self, name: &str) -> Option<&Table> {
        self.blocks.iter().find_map(|block| match block {
            Block::Table(table) if table.name() == name => Some(table),
            _ => None,
        })
    }

    /// The page as Markdown; figures and tables are in the folder with its name beside it.
    pub fn markdown(&self) -> String {
        markdown::page(self)
    }

    /// Writes `NAME.md`, and the folder `NAME` with figures, tables and `page.json`.
    pub fn write(&self, out: &Path) -> Result<Vec<PathBuf>, Error> {
        let folder = out.join(self.name);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let mut written = Vec::new();
        let mut file = |path: PathBuf, bytes: &[u8]| -> Result<(), Error> {
            put(&path, bytes)?;
            written.push(path);
            Ok(())
        };
        for block in &self.blocks {
            match block {
                Block::Figure { name, svg, png, .. } => {
                    file(folder.join(format!("{name}.svg")), svg.as_bytes())?;
                    file(folder.join(format!("{name}.png")), png)?;
                }
                Block::Table(table) => {
                    file(folder.join(format!("{}.csv", table.name())), table.csv().as_bytes())?;
                }
                Block::Heading(_) | Block::Paragraph(_) => {}
            }
        }
        let told = Told {
            title: self.title.clone(),
            command: self.command.clone(),
            facts: self.facts.clone(),
            claims: self.claims.clone(),
            numbers: self.numbers.clone(),
        };
        let json = serde_json::to_vec_pretty(&told).unwrap_or_default();
        file(folder.join("page.json"), &json)?;
        file(out.join(format!("{}.md", self.name)), self.markdown().as_bytes())?;
        Ok(written)
    }
}

pub(crate) fn put(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut file = AtomicFile::create(path)?;
        file.write_all(bytes)?;
        file.commit()
    };
    write().map_err(at(path))
}
