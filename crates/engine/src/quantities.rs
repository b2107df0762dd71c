//! The value of a function and its derivatives, by name.

use taste_choice::Error as ChoiceError;
use taste_graph::Id;

use crate::{Error, Value, error::request};

/// Makes the structure and all that goes through its fields from one list of names.
macro_rules! quantities {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// One thing for the value of a function and one for each of its derivatives: whether it is wanted ([`Wants`]),
        /// where it is in a graph ([`Parts`]), what came out ([`Outputs`]). The value is always there, so its type may
        /// differ.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Quantities<T, V = T> {
            /// f: N, or N × K for every class.
            pub value: V,
            $($(#[$doc])* pub $name: T,)*
        }

        impl Quantities<&'static str> {
            /// The names, which outputs of graphs and files have.
            pub const NAMES: Self = Self { value: "value", $($name: stringify!($name),)* };
        }

        impl Wants {
            /// Nothing beside the value.
            pub const NONE: Self = Self { value: (), $($name: false,)* };
        }

        impl<T> Quantities<T> {
            fn into_vec(self) -> Vec<T> {
                vec![self.value, $(self.$name,)*]
            }
        }

        impl<T, V> Quantities<T, V> {
            /// Each by reference.
            pub fn as_ref(&self) -> Quantities<&T, &V> {
                Quantities { value: &self.value, $($name: &self.$name,)* }
            }

            /// Each beside its counterpart.
            pub fn zip<U, W>(self, other: Quantities<U, W>) -> Quantities<(T, U), (V, W)> {
                Quantities {
                    value: (self.value, other.value),
                    $($name: (self.$name, other.$name),)*
                }
            }

            /// What functions make of the value and of each of the others, the value first.
            pub fn map<U, W>(
                self,
                value: impl FnOnce(V) -> W,
                mut each: impl FnMut(T) -> U,
            ) -> Quantities<U, W> {
                Quantities { value: value(self.value), $($name: each(self.$name),)* }
            }

            /// [`Self::map`] with functions that can fail.
            pub fn try_map<U, W, E>(
                self,
                value: impl FnOnce(V) -> Result<W, E>,
                mut each: impl FnMut(T) -> Result<U, E>,
            ) -> Result<Quantities<U, W>, E> {
                Ok(Quantities { value: value(self.value)?, $($name: each(self.$name)?,)* })
            }
        }
    };
}

quantities! {
    /// ∇f, in the shape of the input; N × K × … for every class.
    gradient,
    /// Δf, in the shape of the value.
    laplacian,
    /// The standard error of a stochastic Δf.
    stderr,
    /// ∂²f/∂xᵢ² for every i, in the shape of the gradient.
    diagonal,
    /// s·∇f for a field s in the shape of x; in the shape of the value.
    drift,
    /// ∂z/∂x for the logits z: N × K × entries of x.
    jacobian,
}

/// What to compute beside the value.
pub type Wants = Quantities<bool, ()>;

/// Where quantities are in a graph; what was not asked for is absent.
pub type Parts = Quantities<Option<Id>, Id>;

/// Results for some samples; what was not asked for is absent.
pub type Outputs = Quantities<Option<Value>, Value>;

impl<T> Quantities<T> {
    /// Each with its name.
    pub fn named(self) -> impl Iterator<Item = (&'static str, T)> {
        Quantities::NAMES.into_vec().into_iter().zip(self.into_vec())
    }
}

impl<V> Quantities<Option<V>, V> {
    /// A value without derivatives.
    pub fn of(value: V) -> Self {
        Quantities::NAMES.map(|_| value, |_| None)
    }

    /// Those that are there, each with its name.
    pub fn present(self) -> impl Iterator<Item = (&'static str, V)> {
        let named = self.map(Some, |part| part).named();
        named.filter_map(|(name, part)| Some((name, part?)))
    }

    /// The one of this name, if it is there.
    pub fn get(&self, name: &str) -> Option<&V> {
        let found = self.as_ref().map(|value| value, Option::as_ref);
        found.present().find(|(n, _)| *n == name).map(|(_, part)| part)
    }
}

impl Wants {
    /// Those of these names.
    pub fn from_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, ChoiceError> {
        let known = || Quantities::NAMES.into_vec();
        let names: Vec<&str> = names.into_iter().collect();
        if let Some(&name) = names.iter().find(|n| !known().contains(n)) {
            return Err(ChoiceError::Unknown {
                kind: "quantity",
                name: name.to_owned(),
                suggestion: taste_choice::suggestion(known(), name),
                known: known().into_iter().map(str::to_owned).collect(),
            });
        }
        Ok(Quantities::NAMES.map(|_| (), |name| names.contains(&name)))
    }

    /// Whether a second derivative is among them.
    pub fn second_order(self) -> bool {
        self.laplacian || self.stderr || self.diagonal
    }
}

impl Outputs {
    /// Results of consecutive samples as one.
    pub fn join(parts: &[Self]) -> Result<Self, Error> {
        fn push<'v>(mut list: Vec<&'v Value>, value: &'v Value) -> Vec<&'v Value> {
            list.push(value);
            list
        }
        let mut parts = parts.iter().map(|p| p.as_ref().map(|value| value, Option::as_ref));
        let first = parts.next().ok_or_else(|| request("no results"))?;
        let lists = parts.fold(first.map(|v| vec![v], |v| v.map(|v| vec![v])), |lists, part| {
            lists.zip(part).map(
                |(list, value)| push(list, value),
                |(list, value)| list.zip(value).map(|(list, value)| push(list, value)),
            )
        });
        lists.try_map(
            |list| Value::join(&list),
            |list| list.map(|list| Value::join(&list)).transpose(),
        )
    }

    /// The first rows of each.
    pub(crate) fn first_rows(&self, rows: usize) -> Self {
        self.as_ref().map(|v| v.rows(0, rows), |v| v.as_ref().map(|v| v.rows(0, rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_pick_what_is_wanted() {
        let wants = Wants::from_names(["value", "laplacian", "drift"]).expect("names");
        assert_eq!(wants, Wants { laplacian: true, drift: true, ..Wants::NONE });
        assert_eq!(Wants::from_names([]).expect("names"), Wants::default());
        let message = Wants::from_names(["laplacain"]).expect_err("unknown").to_string();
        assert!(message.contains("did you mean laplacian?"), "{message}");
    }

    #[test]
    fn every_quantity_keeps_its_name_and_place() {
        let names: Vec<_> = Quantities::NAMES.named().collect();
        assert!(names.iter().all(|(name, same)| name == same), "{names:?}");
        let some = Quantities { laplacian: Some(2), jacobian: Some(3), ..Quantities::of(1) };
        let present: Vec<_> = some.present().collect();
        assert_eq!(present, [("value", 1), ("laplacian", 2), ("jacobian", 3)]);
        assert_eq!((some.get("value"), some.get("laplacian")), (Some(&1), Some(&2)));
        assert_eq!((some.get("drift"), some.get("hessian")), (None, None));
    }
}
