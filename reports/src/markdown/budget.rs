//! Fits blocks into a size budget ([`fit`]) and says what was left out.

use crate::text::inert;

/// The content of a block, in the order in which it may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// The observations of arms.
    Detail,
    /// Cases of an area.
    Case,
    /// Rows of a table of findings.
    Finding,
    /// Never left out whole.
    Fixed,
}

/// A piece of the page that can lose items from its end.
#[derive(Debug, Clone)]
pub(super) struct PageBlock {
    pub(super) sort: BlockKind,
    pub(super) open: String,
    pub(super) items: Vec<String>,
    pub(super) close: String,
}

impl PageBlock {
    pub(super) fn fixed(text: String) -> Self {
        Self { sort: BlockKind::Fixed, open: text, items: Vec::new(), close: String::new() }
    }

    fn make_inert(&mut self) {
        for text in self.items.iter_mut().chain([&mut self.open, &mut self.close]) {
            *text = inert(text);
        }
    }

    /// A block that lost all its items is not shown, nor is one that never had any.
    fn is_shown(&self) -> bool {
        self.sort == BlockKind::Fixed || !self.items.is_empty()
    }

    fn len(&self) -> usize {
        if !self.is_shown() {
            return 0;
        }
        let items: usize = self.items.iter().map(String::len).sum();
        self.open.len() + items + self.close.len()
    }

    fn push_to(&self, page: &mut String) {
        if self.is_shown() {
            page.push_str(&self.open);
            self.items.iter().for_each(|item| page.push_str(item));
            page.push_str(&self.close);
        }
    }
}

/// Room for the note on what was left out.
const NOTE_ROOM: usize = 300;
/// The least budget that holds a head and the note.
const MIN_BUDGET: usize = 1024;

/// The page, in at most `budget` bytes.
pub(super) fn fit(mut blocks: Vec<PageBlock>, budget: usize) -> String {
    blocks.iter_mut().for_each(PageBlock::make_inert);
    let budget = budget.max(MIN_BUDGET);
    let mut size: usize = blocks.iter().map(PageBlock::len).sum();
    let mut cuts = Vec::new();
    if size > budget {
        for (sort, what) in [
            (BlockKind::Detail, "details of findings"),
            (BlockKind::Case, "rows of cases"),
            (BlockKind::Finding, "rows of findings"),
        ] {
            let count = cut(&mut blocks, sort, &mut size, budget - NOTE_ROOM);
            if count > 0 {
                cuts.push(format!("{count} {what}"));
            }
        }
    }
    let mut page = String::with_capacity(size + NOTE_ROOM);
    for (index, block) in blocks.iter().enumerate() {
        block.push_to(&mut page);
        if index == 0 && !cuts.is_empty() {
            page.push_str(&note(&cuts.join(", ")));
        }
    }
    truncate(page, budget)
}

/// Removes items of one sort from the end until the page fits; returns their number.
fn cut(blocks: &mut [PageBlock], sort: BlockKind, size: &mut usize, budget: usize) -> usize {
    let mut count = 0;
    for block in blocks.iter_mut().rev().filter(|block| block.sort == sort) {
        while *size > budget {
            let Some(item) = block.items.pop() else { break };
            *size -= item.len();
            count += 1;
            if block.items.is_empty() {
                *size -= block.open.len() + block.close.len();
            }
        }
    }
    count
}

fn note(what: &str) -> String {
    format!("> Left out to fit the size limit: {what}. The run record has them all.\n\n")
}

/// The last resort, for a page whose fixed parts alone are too large.
fn truncate(mut page: String, budget: usize) -> String {
    if page.len() > budget {
        let note = format!("\n\n{}", note("the rest of this page"));
        let end = (0..=budget - note.len()).rev().find(|i| page.is_char_boundary(*i));
        page.truncate(end.unwrap_or(0));
        page.push_str(&note);
    }
    page
}
