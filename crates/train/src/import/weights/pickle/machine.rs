//! The stack machine.

use std::collections::HashMap;

use super::{
    globals::{self, Global},
    values::{Value, Values},
};

/// Functions that rebuild tensors look at fewer arguments; without a bound, a shared tuple could be copied without end.
const MOST_ARGUMENTS: usize = 16;

/// Reads a pickle from its first opcode to its last.
pub(super) struct Machine<'p> {
    rest: &'p [u8],
    values: Values,
    stack: Vec<usize>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: HashMap<u32, usize>,
}

type Step<T = ()> = Result<T, String>;

impl<'p> Machine<'p> {
    pub(super) fn new(pickle: &'p [u8]) -> Self {
        Self {
            rest: pickle,
            values: Values::default(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
        }
    }

    /// All values, and the one that the pickle stands for.
    pub(super) fn run(mut self) -> Step<(Values, usize)> {
        loop {
            let [opcode] = self.bytes()?;
            if opcode == b'.' {
                let root = self.pop()?;
                return Ok((self.values, root));
            }
            self.step(opcode)?;
        }
    }

    /// Opcodes that stand for values of their own; others are left to [`Self::apply`].
    fn step(&mut self, opcode: u8) -> Step {
        match opcode {
            // The protocol's number, and the length of a frame.
            0x80 => self.bytes::<1>().map(drop),
            0x95 => self.bytes::<8>().map(drop),
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'N' => self.push(Value::None),
            0x88 | 0x89 => self.push(Value::Plain),
            b'K' => self.bytes::<1>().and_then(|[n]| self.push(Value::Int(n.into()))),
            b'M' => {
                let n = u16::from_le_bytes(self.bytes()?);
                self.push(Value::Int(n.into()))
            }
            b'J' => {
                let n = i32::from_le_bytes(self.bytes()?);
                self.push(Value::Int(n.into()))
            }
            0x8a => self.long(),
            b'G' => self.bytes::<8>().and_then(|_| self.push(Value::Plain)),
            b'X' => self.length32().and_then(|n| self.text(n)),
            0x8c => self.length8().and_then(|n| self.text(n)),
            // Strings of Python 2 are bytes, and names are among them.
            b'U' => self.length8().and_then(|n| self.text(n)),
            b'T' => self.length32().and_then(|n| self.text(n)),
            b'C' => self.length8().and_then(|n| self.skip(n)),
            b'B' => self.length32().and_then(|n| self.skip(n)),
            b')' => self.push(Value::Tuple(Vec::new())),
            b']' => self.push(Value::List(Vec::new())),
            b'}' => self.push(Value::Dict(Vec::new())),
            b't' => {
                let items = self.since_mark()?;
                self.push(Value::Tuple(items))
            }
            0x85..=0x87 => {
                let items = self.last(usize::from(opcode - 0x84))?;
                self.push(Value::Tuple(items))
            }
            other => self.apply(other),
        }
    }

    /// Opcodes that work on values that are there.
    fn apply(&mut self, opcode: u8) -> Step {
        match opcode {
            b'q' => self.bytes::<1>().and_then(|[at]| self.remember(at.into())),
            b'r' => {
                let at = u32::from_le_bytes(self.bytes()?);
                self.remember(at)
            }
            0x94 => self.remember(u32::try_from(self.memo.len()).unwrap_or(u32::MAX)),
            b'h' => self.bytes::<1>().and_then(|[at]| self.recall(at.into())),
            b'j' => {
                let at = u32::from_le_bytes(self.bytes()?);
                self.recall(at)
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push(Value::Global(Global::named(&module, &name)?))
            }
            0x93 => self.global(),
            b'R' => self.call(),
            b'b' => self.state(),
            b'Q' => {
                let named = self.pop()?;
                let storage = globals::storage(&self.values, named)?;
                self.push(storage)
            }
            b's' => {
                let pair = self.last(2)?;
                self.set_items(&pair)
            }
            b'u' => {
                let items = self.since_mark()?;
                self.set_items(&items)
            }
            b'a' => {
                let item = self.last(1)?;
                self.append(&item)
            }
            b'e' => {
                let items = self.since_mark()?;
                self.append(&items)
            }
            other => {
                Err(format!("its pickle has the opcode {other:#04x}, which no state dict needs"))
            }
        }
    }

    /// A function by the names on the stack.
    fn global(&mut self) -> Step {
        let names = self.last(2)?;
        match (self.values.get(names[0]), self.values.get(names[1])) {
            (Value::Text(module), Value::Text(name)) => {
                let global = Global::named(module, name)?;
                self.push(Value::Global(global))
            }
            _ => Err("its pickle names a function by something that is no name".to_owned()),
        }
    }

    fn take(&mut self, count: usize) -> Step<&'p [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("its pickle is cut off")?;
        self.rest = rest;
        Ok(taken)
    }

    fn bytes<const N: usize>(&mut self) -> Step<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    fn length8(&mut self) -> Step<usize> {
        self.bytes::<1>().map(|[n]| n.into())
    }

    fn length32(&mut self) -> Step<usize> {
        let length = u32::from_le_bytes(self.bytes()?);
        usize::try_from(length).map_err(|e| e.to_string())
    }

    fn line(&mut self) -> Step<String> {
        let end = self.rest.iter().position(|&b| b == b'\n').ok_or("its pickle is cut off")?;
        let line = self.take(end + 1)?;
        Ok(String::from_utf8_lossy(&line[..end]).into_owned())
    }

    fn text(&mut self, length: usize) -> Step {
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.push(Value::Text(text))
    }

    fn skip(&mut self, length: usize) -> Step {
        self.take(length)?;
        self.push(Value::Plain)
    }

    /// An integer of any length; those beyond 64 bits count nothing.
    fn long(&mut self) -> Step {
        let length = self.length8()?;
        let digits = self.take(length)?;
        let negative = digits.last().is_some_and(|&high| high >= 0x80);
        let mut word = [if negative { 0xff } else { 0 }; 8];
        if digits.len() > word.len() {
            return self.push(Value::Plain);
        }
        word[..digits.len()].copy_from_slice(digits);
        self.push(Value::Int(i64::from_le_bytes(word)))
    }

    fn push(&mut self, value: Value) -> Step {
        let id = self.values.add(value)?;
        self.stack.push(id);
        Ok(())
    }

    fn pop(&mut self) -> Step<usize> {
        Ok(self.last(1)?[0])
    }

    /// The last `count` values, taken off the stack.
    fn last(&mut self, count: usize) -> Step<Vec<usize>> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let from = self.stack.len().checked_sub(count).filter(|&from| from >= floor);
        Ok(self.stack.split_off(from.ok_or("its pickle takes more than it holds")?))
    }

    fn since_mark(&mut self) -> Step<Vec<usize>> {
        let mark = self.marks.pop().ok_or("its pickle has an end without a beginning")?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn top(&self) -> Step<usize> {
        self.stack.last().copied().ok_or_else(|| "its pickle takes more than it holds".to_owned())
    }

    fn remember(&mut self, at: u32) -> Step {
        let top = self.top()?;
        self.memo.insert(at, top);
        Ok(())
    }

    /// The value that was kept, once more on the stack: it is not copied.
    fn recall(&mut self, at: u32) -> Step {
        let id = self.memo.get(&at).copied();
        self.stack.push(id.ok_or_else(|| format!("its pickle recalls {at}, which it never kept"))?);
        Ok(())
    }

    fn call(&mut self) -> Step {
        let pair = self.last(2)?;
        let (Value::Global(function), Value::Tuple(arguments)) =
            (self.values.get(pair[0]), self.values.get(pair[1]))
        else {
            let kind = self.values.get(pair[0]).kind();
            return Err(format!("its pickle calls {kind}"));
        };
        let function = *function;
        let arguments: Vec<usize> = arguments.iter().copied().take(MOST_ARGUMENTS).collect();
        let result = function.call(&mut self.values, &arguments)?;
        self.stack.push(result);
        Ok(())
    }

    /// Attributes of a dict or a tensor, which change neither.
    fn state(&mut self) -> Step {
        self.pop()?;
        match self.values.get(self.top()?) {
            Value::Dict(_) | Value::Tensor(_) => Ok(()),
            other => Err(format!("its pickle gives attributes to {}", other.kind())),
        }
    }

    fn set_items(&mut self, items: &[usize]) -> Step {
        let top = self.top()?;
        match self.values.get_mut(top) {
            Some(Value::Dict(entries)) => {
                entries.extend(items.as_chunks::<2>().0.iter().map(|&[key, value]| (key, value)));
                Ok(())
            }
            _ => Err(format!("its pickle sets items of {}", self.values.get(top).kind())),
        }
    }

    fn append(&mut self, items: &[usize]) -> Step {
        let top = self.top()?;
        match self.values.get_mut(top) {
            Some(Value::List(list)) => {
                list.extend(items);
                Ok(())
            }
            _ => Err(format!("its pickle appends to {}", self.values.get(top).kind())),
        }
    }
}
