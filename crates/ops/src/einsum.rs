//! Sums of products over named axes, written with products of matrices.

use taste_graph::{
    DType, Dim, Id, OpError,
    algebra::{Slice, Span},
};

use crate::{Entry, Reader, Sample, matmul::MatMul, shape::product};

/// The name of an axis: a letter, or a place under the ellipsis counted from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Ellipsis(usize),
    Letter(char),
}

/// A value with a name for every axis, no name twice.
#[derive(Clone, Debug)]
struct Term {
    id: Id,
    labels: Vec<Label>,
}

fn invalid(equation: &str) -> OpError {
    OpError::invalid(format!("the equation {equation:?} does not fit its operands"))
}

/// The labels of a term; the ellipsis stands for `covered` axes.
fn labels(text: &str, covered: usize, equation: &str) -> Result<Vec<Label>, OpError> {
    let ellipsis = (0..covered).rev().map(Label::Ellipsis);
    let mut labels = Vec::new();
    let mut pieces = text.split("...");
    let letters = |piece: &str, labels: &mut Vec<Label>| {
        for c in piece.chars() {
            if !c.is_ascii_alphabetic() {
                return Err(invalid(equation));
            }
            labels.push(Label::Letter(c));
        }
        Ok(())
    };
    letters(pieces.next().unwrap_or(""), &mut labels)?;
    if let Some(rest) = pieces.next() {
        labels.extend(ellipsis);
        letters(rest, &mut labels)?;
    }
    if pieces.next().is_some() { Err(invalid(equation)) } else { Ok(labels) }
}

/// The diagonal of two axes of equal size: elements n + 1 apart once the axes are merged.
fn diagonal(
    r: &mut Reader<'_, '_>,
    term: &mut Term,
    first: usize,
    second: usize,
) -> Result<(), OpError> {
    let size = r.fixed_size(term.id, first)?;
    if r.fixed_size(term.id, second)? != size {
        return Err(OpError::shape("equal sizes under one name", size, r.fact(term.id)));
    }
    let rank = r.rank(term.id);
    let rest: Vec<usize> = (0..rank).filter(|a| ![first, second].contains(a)).collect();
    let perm: Vec<usize> = rest.iter().copied().chain([first, second]).collect();
    let x = r.b.transpose(term.id, &perm)?;
    let mut shape: Vec<Dim> = r.fact(x).shape[..rest.len()].to_vec();
    let squared = size.checked_mul(size).ok_or_else(|| OpError::invalid("a size beyond memory"))?;
    shape.push(Dim::from(squared));
    let x = r.b.reshape(x, &shape)?;
    let step = isize::try_from(size + 1).map_err(|e| OpError::invalid(e.to_string()))?;
    let span = Span { start: 0, step, len: size };
    term.id = r.b.push(Slice::along(rest.len(), span), &[x])?;
    let label = term.labels[first];
    term.labels = rest.iter().map(|&a| term.labels[a]).chain([label]).collect();
    Ok(())
}

/// Sums over the axes that `keep` does not name, which vanish.
fn sum_out(
    r: &mut Reader<'_, '_>,
    term: &mut Term,
    keep: impl Fn(Label) -> bool,
) -> Result<(), OpError> {
    let gone: Vec<usize> = (0..term.labels.len()).filter(|&a| !keep(term.labels[a])).collect();
    if gone.is_empty() {
        return Ok(());
    }
    let sum = r.b.sum(term.id, &gone)?;
    let left: Vec<usize> = (0..term.labels.len()).filter(|a| !gone.contains(a)).collect();
    let shape: Vec<Dim> = left.iter().map(|&a| r.fact(sum).shape[a]).collect();
    term.id = r.b.reshape(sum, &shape)?;
    term.labels = left.iter().map(|&a| term.labels[a]).collect();
    Ok(())
}

/// The value with its axes in the order of `labels`.
fn ordered(r: &mut Reader<'_, '_>, term: &Term, labels: &[Label]) -> Result<Id, OpError> {
    let find = |l: &Label| term.labels.iter().position(|t| t == l);
    let perm: Option<Vec<usize>> = labels.iter().map(find).collect();
    let perm = perm.ok_or_else(|| OpError::invalid("an axis of the result has no operand"))?;
    r.b.transpose(term.id, &perm)
}

fn size_of(r: &Reader<'_, '_>, term: &Term, label: Label) -> Option<Dim> {
    let axis = term.labels.iter().position(|&l| l == label)?;
    r.fact(term.id).shape.get(axis).copied()
}

/// The product of two terms, summed over what neither `keep` nor one of them alone names.
fn contract(
    r: &mut Reader<'_, '_>,
    mut a: Term,
    mut b: Term,
    keep: &[Label],
) -> Result<Term, OpError> {
    // A shared axis that is summed over and has size 1 on one side is a sum on the other.
    let lone: Vec<Label> = a
        .labels
        .iter()
        .copied()
        .filter(|&l| {
            !keep.contains(&l) && size_of(r, &b, l).is_some_and(|s| Some(s) != size_of(r, &a, l))
        })
        .collect();
    let (in_a, in_b) = (a.labels.clone(), b.labels.clone());
    let stays =
        |other: &[Label], l: Label| !lone.contains(&l) && (keep.contains(&l) || other.contains(&l));
    for &l in &lone {
        let one = Some(Dim::from(1));
        if size_of(r, &a, l) != one && size_of(r, &b, l) != one {
            return Err(OpError::shape("equal sizes under one name", r.fact(a.id), r.fact(b.id)));
        }
    }
    sum_out(r, &mut a, |l| stays(&in_b, l))?;
    sum_out(r, &mut b, |l| stays(&in_a, l))?;
    let shared = |l: &Label| b.labels.contains(l);
    let mut batch: Vec<Label> =
        a.labels.iter().copied().filter(|l| shared(l) && keep.contains(l)).collect();
    batch.sort_by_key(|l| keep.iter().position(|k| k == l));
    let summed: Vec<Label> =
        a.labels.iter().copied().filter(|l| shared(l) && !keep.contains(l)).collect();
    let rows: Vec<Label> = a.labels.iter().copied().filter(|l| !shared(l)).collect();
    let columns: Vec<Label> = b.labels.iter().copied().filter(|l| !a.labels.contains(l)).collect();
    let result: Vec<Label> = [&batch[..], &rows, &columns].concat();
    let sizes = |r: &Reader<'_, '_>, t: &Term, labels: &[Label]| -> Vec<Dim> {
        labels.iter().filter_map(|&l| size_of(r, t, l)).collect()
    };
    let (m, k, n) = (sizes(r, &a, &rows), sizes(r, &a, &summed), sizes(r, &b, &columns));
    let (batch_a, batch_b) = (sizes(r, &a, &batch), sizes(r, &b, &batch));
    let ones = |count: usize| vec![Dim::from(1); count];
    let merged = product(&m).zip(product(&k)).zip(product(&n));
    if summed.is_empty() || merged.is_none() || r.fact(a.id).dtype != DType::Float {
        let x = ordered(r, &a, &[&batch[..], &rows, &summed].concat())?;
        let y = ordered(r, &b, &[&batch[..], &columns, &summed].concat())?;
        let x = r.b.reshape(x, &[&batch_a[..], &m, &ones(n.len()), &k].concat())?;
        let y = r.b.reshape(y, &[&batch_b[..], &ones(m.len()), &n, &k].concat())?;
        let id = r.b.mul(x, y)?;
        let labels = [&result[..], &summed].concat();
        let mut term = Term { id, labels };
        sum_out(r, &mut term, |l| result.contains(&l))?;
        return Ok(term);
    }
    let ((m1, k1), n1) = merged.unwrap_or(((Dim::from(1), Dim::from(1)), Dim::from(1)));
    let x = ordered(r, &a, &[&batch[..], &rows, &summed].concat())?;
    let y = ordered(r, &b, &[&batch[..], &summed, &columns].concat())?;
    let x = r.b.reshape(x, &[&batch_a[..], &[m1, k1]].concat())?;
    let y = r.b.reshape(y, &[&batch_b[..], &[k1, n1]].concat())?;
    let z = r.b.push(MatMul, &[x, y])?;
    let shape = [&r.fact(z).shape[..batch.len()], &m, &n].concat();
    Ok(Term { id: r.b.reshape(z, &shape)?, labels: result })
}

/// The labels of every operand and of the result.
fn parse(
    r: &Reader<'_, '_>,
    equation: &str,
    operands: &[Id],
) -> Result<(Vec<Vec<Label>>, Vec<Label>), OpError> {
    let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (inputs, output) = match text.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (&text[..], None),
    };
    let texts: Vec<&str> = inputs.split(',').collect();
    if texts.len() != operands.len() {
        return Err(invalid(equation));
    }
    let mut terms = Vec::new();
    let mut widest = 0;
    for (text, &id) in texts.iter().zip(operands) {
        let letters = text.chars().filter(|c| *c != '.').count();
        let covered = r.rank(id).checked_sub(letters).ok_or_else(|| invalid(equation))?;
        if covered > 0 && !text.contains("...") {
            return Err(invalid(equation));
        }
        widest = widest.max(covered);
        terms.push(labels(text, covered, equation)?);
    }
    let all: Vec<Label> = terms.concat();
    let output = if let Some(text) = output {
        labels(text, widest, equation)?
    } else {
        let once = |l: &Label| all.iter().filter(|a| *a == l).count() == 1;
        let is_letter = |l: &Label| matches!(l, Label::Letter(_));
        let mut letters: Vec<Label> =
            all.iter().copied().filter(|l| is_letter(l) && once(l)).collect();
        letters.sort_unstable();
        (0..widest).rev().map(Label::Ellipsis).chain(letters).collect()
    };
    let unique = (0..output.len()).all(|i| !output[..i].contains(&output[i]));
    if !unique || output.iter().any(|l| !all.contains(l)) {
        return Err(invalid(equation));
    }
    Ok((terms, output))
}

fn read(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let equation = r.string_or("equation", "");
    let operands: Vec<Id> = (0..r.arity()).map(|i| r.arg(i)).collect::<Result<_, _>>()?;
    let (terms, output) = parse(r, &equation, &operands)?;
    let mut waiting = Vec::with_capacity(operands.len());
    for (&id, labels) in operands.iter().zip(terms) {
        let mut term = Term { id, labels };
        while let Some((first, second)) = repeated(&term.labels) {
            diagonal(r, &mut term, first, second)?;
        }
        waiting.push(term);
    }
    let mut waiting = waiting.into_iter();
    let mut sum = waiting.next().ok_or(OpError::Arity { want: 1, got: 0 })?;
    while let Some(next) = waiting.next() {
        let later = waiting.as_slice().iter().flat_map(|t| t.labels.iter().copied());
        let mut keep = output.clone();
        for label in later {
            if !keep.contains(&label) {
                keep.push(label);
            }
        }
        sum = contract(r, sum, next, &keep)?;
    }
    sum_out(r, &mut sum, |l| output.contains(&l))?;
    Ok(vec![ordered(r, &sum, &output)?])
}

fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|i| labels[..i].iter().position(|l| *l == labels[i]).map(|j| (j, i)))
}

fn samples() -> Vec<Sample> {
    let of = |equation: &str| Sample::new(equation).string("equation", equation);
    vec![
        of("ij->ji").active(&[2, 3]),
        of("ij->i").active(&[2, 3]).batched(),
        of("ii->i").active(&[3, 3]),
        of("nii->n").active(&[2, 3, 3]).batched(),
        of("ij,jk->ik").active(&[2, 3]).active(&[3, 2]),
        of("nd,ed->ne").active(&[2, 3]).fixed(&[4, 3]).batched(),
        of("bij,bjk->bik").active(&[2, 2, 3]).active(&[2, 3, 2]).batched(),
        of("bhqd, bhkd -> bhqk").active(&[1, 2, 2, 3]).active(&[1, 2, 3, 3]).batched(),
        of("bqhd,bkhd->bhqk").active(&[2, 2, 2, 2]).active(&[2, 3, 2, 2]).batched(),
        of("i,j->ij").active(&[2]).active(&[3]),
        of("i,i").active(&[3]).active(&[3]),
        of("ba,cb").active(&[2, 3]).active(&[2, 2]),
        of("...ij,...jk").active(&[2, 2, 3]).active(&[3, 2]),
        of("...i,...i->...").active(&[2, 1, 3]).active(&[2, 3]),
        of("ij,jk,kl->il").active(&[2, 2]).active(&[2, 3]).active(&[3, 2]),
        of("bn,anm,bm->ba").active(&[2, 2]).fixed(&[3, 2, 2]).active(&[2, 2]).batched(),
        of("ijk,il->").active(&[2, 2, 2]).active(&[2, 3]),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[Entry::new("Einsum", read, samples)];
