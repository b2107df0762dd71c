//! Nodes that have no rule here: they stay as they are, and the engine runs them.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use taste_graph::{
    Calculus, Concrete, DType, Dim, Emitter, Fact, Lift, Op, OpError, Tensor, downcast,
};
use taste_onnx::{
    ElemType, builders,
    proto::{NodeProto, TensorProto},
};

/// What a node takes in one place.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// Nothing.
    Omitted,
    /// The next argument, in the element type that the node wants.
    Value(ElemType),
    /// A tensor of the file that is neither floats nor integers of 64 bits.
    Stored(Box<TensorProto>),
}

/// One of a node's results, as far as it is used.
#[derive(Clone, Debug)]
pub(crate) struct Yield {
    /// Its place among the results.
    pub(crate) place: usize,
    /// What it is.
    pub(crate) fact: Fact,
    /// Its element type in the file.
    pub(crate) elem: ElemType,
}

/// A node as the file has it.
#[derive(Clone, Debug)]
pub(crate) struct Carried {
    node: Arc<NodeProto>,
    /// The version of the node's operator set.
    version: i64,
    slots: Arc<[Slot]>,
    yields: Vec<Yield>,
    /// Tells this node from all others.
    serial: u64,
}

static SERIAL: AtomicU64 = AtomicU64::new(0);

impl Carried {
    pub(crate) fn new(
        node: &NodeProto,
        version: i64,
        slots: Vec<Slot>,
        yields: Vec<Yield>,
    ) -> Self {
        Self {
            node: Arc::new(node.clone()),
            version,
            slots: slots.into(),
            yields,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// The operator, after its domain if it has one.
    fn operator(&self) -> String {
        match self.node.domain.as_str() {
            "" | "ai.onnx" => self.node.op_type.clone(),
            domain => format!("{domain}.{}", self.node.op_type),
        }
    }
}

/// The operator of a node that is left to the engine, after its domain if it has one.
pub fn carried(op: &dyn Op) -> Option<String> {
    downcast::<Carried>(op).map(Carried::operator)
}

/// The element type that a value of the graph has in written files.
fn written(dtype: DType) -> ElemType {
    match dtype {
        DType::Float => ElemType::F32,
        DType::Int => ElemType::I64,
        DType::Bool => ElemType::Bool,
    }
}

fn cast(e: &mut Emitter<'_>, name: String, from: ElemType, to: ElemType) -> String {
    if from == to {
        return name;
    }
    e.node("Cast", &[name], vec![builders::attr_int("to", i64::from(to.code()))])
}

impl Op for Carried {
    fn name(&self) -> &'static str {
        "a carried node"
    }

    fn key(&self) -> String {
        format!("{} {:?}", self.serial, self.yields)
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let want = self.slots.iter().filter(|s| matches!(s, Slot::Value(_))).count();
        if args.len() != want {
            return Err(OpError::Arity { want, got: args.len() });
        }
        Ok(self.yields.iter().map(|y| y.fact.at(0)).collect())
    }

    fn eval(&self, _args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::invalid(format!(
            "{} is left to the engine, and the interpreter in double precision has no rule for it",
            self.operator()
        )))
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Unknown
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::PerLane
    }

    fn with_batch(&self, batch: Dim) -> Option<Arc<dyn Op>> {
        let mut op = self.clone();
        for dim in op.yields.iter_mut().flat_map(|y| &mut y.fact.shape) {
            *dim = dim.with_batch(batch);
        }
        Some(Arc::new(op))
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let mut given = args.iter();
        let mut inputs = Vec::with_capacity(self.slots.len());
        let mut place = 0;
        for slot in self.slots.iter() {
            inputs.push(match slot {
                Slot::Omitted => String::new(),
                Slot::Stored(tensor) => e.stored(tensor),
                Slot::Value(elem) => {
                    let name = given.next().cloned().unwrap_or_default();
                    let own = written(e.arg_fact(place).dtype);
                    place += 1;
                    cast(e, name, own, *elem)
                }
            });
        }
        let facts: Vec<(usize, ElemType, Fact)> =
            self.yields.iter().map(|y| (y.place, y.elem, y.fact.clone())).collect();
        let results = e.carry(&self.node, self.version, inputs, &facts);
        let typed = self.yields.iter().zip(results);
        Ok(typed.map(|(y, name)| cast(e, name, y.elem, written(y.fact.dtype))).collect())
    }
}
