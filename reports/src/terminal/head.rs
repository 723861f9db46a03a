//! The head of a page: harness, corpus, selection, and one entry a column.

use super::TerminalPage;
use crate::label::{backend_words, corpus_words, missing_words, place_words, selection_words};
use crate::matrix::MatrixColumn;
use crate::text::{clean, wrap};

impl TerminalPage<'_> {
    pub(super) fn head(&self) -> String {
        let mut lines = Vec::new();
        for sentence in &self.matrix.interrupted {
            let text = clean(&format!("NOT WHOLE: {sentence}"));
            lines.extend(wrap(&text, self.width).iter().map(|line| self.paint.heading(line)));
        }
        if let Some(first) = self.matrix.columns.first() {
            lines.extend(wrap(&corpus_words(first.header), self.width));
            if self.one_selection() {
                lines.extend(wrap(&selection_words(first.header), self.width));
            }
            lines.push(String::new());
        }
        lines.push(self.paint.heading("backends"));
        for (index, column) in self.matrix.columns.iter().enumerate() {
            lines.extend(self.column_entry(index, column));
        }
        for backend in &self.matrix.missing {
            lines.extend(self.hanging(&missing_words(backend)));
        }
        lines.join("\n") + "\n"
    }

    fn column_entry(&self, index: usize, column: &MatrixColumn<'_>) -> Vec<String> {
        let head = self.column_head(index);
        let number = if head.starts_with('[') { format!("{head} ") } else { String::new() };
        let label = match &column.label {
            plain if *plain == column.backend.name => String::new(),
            label => format!("{}: ", clean(label)),
        };
        let (what, place) = (backend_words(column.backend), place_words(column.header));
        let own = match self.one_selection() {
            true => String::new(),
            false => format!("; {}", selection_words(column.header)),
        };
        self.hanging(&format!("{number}{label}{what}; {place}{own}"))
    }

    /// Returns whether all columns are of one selection, by one harness.
    fn one_selection(&self) -> bool {
        let words = |column: &MatrixColumn<'_>| selection_words(column.header);
        self.matrix.columns.windows(2).all(|pair| words(&pair[0]) == words(&pair[1]))
    }
}
