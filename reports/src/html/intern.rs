//! Values kept once and named by number ([`Interner`]): cells repeat one another.

use std::collections::HashMap;
use std::hash::Hash;

/// Numbers values in the order they are first seen.
#[derive(Debug)]
pub(super) struct Interner<T> {
    numbers: HashMap<T, usize>,
    values: Vec<T>,
}

impl<T: Hash + Eq + Clone> Interner<T> {
    /// Knows `values` already.
    pub(super) fn starting_with(values: impl IntoIterator<Item = T>) -> Self {
        let mut interner = Self { numbers: HashMap::new(), values: Vec::new() };
        values.into_iter().for_each(|value| {
            interner.number(value);
        });
        interner
    }

    /// The number of `value`.
    pub(super) fn number(&mut self, value: T) -> usize {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        self.values.push(value.clone());
        self.numbers.insert(value, self.values.len() - 1);
        self.values.len() - 1
    }

    /// The values, each at its number.
    pub(super) fn into_values(self) -> Vec<T> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_number() {
        let mut interner = Interner::starting_with(["zero"]);
        assert_eq!(["one", "zero", "one", "two"].map(|v| interner.number(v)), [1, 0, 1, 2]);
        assert_eq!(interner.into_values(), ["zero", "one", "two"]);
    }
}
