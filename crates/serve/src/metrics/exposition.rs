//! The text format.

use std::fmt::Write;

use super::Histogram;

/// What a family of numbers is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// Families of numbers as text.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
    name: &'static str,
}

type Labels<'a> = &'a [(&'a str, &'a str)];

impl Exposition {
    /// Begins a family; its numbers follow.
    pub(crate) fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> &mut Self {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        self.name = name;
        self
    }

    /// A number of the family.
    pub(crate) fn value(&mut self, labels: Labels<'_>, value: f64) -> &mut Self {
        self.line("", labels, value);
        self
    }

    /// A count of the family.
    pub(crate) fn count(&mut self, labels: Labels<'_>, value: u64) -> &mut Self {
        self.line("", labels, value);
        self
    }

    /// The numbers of a histogram.
    pub(crate) fn histogram(&mut self, labels: Labels<'_>, histogram: &Histogram) -> &mut Self {
        let (below, count, sum) = histogram.read();
        for (bound, at_most) in below {
            let bound = bound.to_string();
            self.line("_bucket", &[labels, &[("le", &bound)]].concat(), at_most);
        }
        self.line("_bucket", &[labels, &[("le", "+Inf")]].concat(), count);
        self.line("_sum", labels, sum);
        self.line("_count", labels, count);
        self
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn line(&mut self, suffix: &str, labels: Labels<'_>, value: impl std::fmt::Display) {
        let label = |(name, value): &(&str, &str)| {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("{name}=\"{value}\"")
        };
        let labels: Vec<String> = labels.iter().map(label).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let value = match value.to_string().as_str() {
            "inf" => "+Inf".to_owned(),
            "-inf" => "-Inf".to_owned(),
            other => other.to_owned(),
        };
        let _ = writeln!(self.text, "{}{suffix}{labels} {value}", self.name);
    }
}
