//! Lists of lists in two vectors, for graphs of millions of nodes.

/// A list of items for each key; keys count from 0.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    /// The place after the last item of each key.
    ends: Vec<usize>,
    items: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Lists { ends: Vec::new(), items: Vec::new() }
    }
}

impl<T: Copy + Default> Lists<T> {
    /// Adds the list of the next key.
    pub fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.items.extend(list);
        self.ends.push(self.items.len());
    }

    /// Sorts pairs of key and item by their keys, of which there are `keys`; items of a key keep their order. The pairs
    /// are asked for twice.
    pub fn grouped<I: Iterator<Item = (u32, T)>>(keys: usize, pairs: impl Fn() -> I) -> Lists<T> {
        let mut ends = vec![0; keys];
        pairs().for_each(|(key, _)| ends[key as usize] += 1);
        let mut next = 0;
        for end in &mut ends {
            // For now this is the place of the next item; at last it is the end.
            next += std::mem::replace(end, next);
        }
        let mut items = vec![T::default(); next];
        for (key, item) in pairs() {
            let place = &mut ends[key as usize];
            items[*place] = item;
            *place += 1;
        }
        Lists { ends, items }
    }

    /// Returns the list of a key.
    pub fn of(&self, key: u32) -> &[T] {
        let key = key as usize;
        let start = if key == 0 { 0 } else { self.ends[key - 1] };
        &self.items[start..self.ends[key]]
    }

    /// Returns the list of every key.
    pub fn lists(&self) -> impl Iterator<Item = &[T]> {
        (0..self.ends.len() as u32).map(|key| self.of(key))
    }

    /// Returns the number of items of all keys.
    pub fn items(&self) -> usize {
        self.items.len()
    }
}
