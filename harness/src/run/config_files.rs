//! Configuration files of a backend: placed before its start, taken away after its end, so that
//! what is left in a home or workspace is the backend's own doing. Main type: [`PlacedFiles`].

use std::io;
use std::path::{Path, PathBuf};

use super::held_file::HeldFile;

/// The files that were placed; removed on drop.
#[derive(Debug, Default)]
pub(super) struct PlacedFiles {
    /// The files, then the directories made for them, innermost first.
    files: Vec<HeldFile>,
    directories: Vec<PathBuf>,
}

impl PlacedFiles {
    /// Writes each file, and makes the directories that it needs.
    ///
    /// # Errors
    /// The path that cannot be written, and the error.
    pub(super) fn place(files: &[(PathBuf, Vec<u8>)]) -> Result<Self, String> {
        let mut placed = Self::default();
        for (path, content) in files {
            let made = placed.directories_for(path).and_then(|()| std::fs::write(path, content));
            let held = made.and_then(|()| HeldFile::open(path));
            placed.files.push(held.map_err(|error| format!("{}: {error}", path.display()))?);
        }
        Ok(placed)
    }

    fn directories_for(&mut self, file: &Path) -> io::Result<()> {
        let parents = file.ancestors().skip(1).take_while(|directory| !directory.exists());
        let missing: Vec<PathBuf> = parents.map(Path::to_owned).collect();
        for directory in missing.into_iter().rev() {
            std::fs::create_dir(&directory)?;
            self.directories.insert(0, directory);
        }
        Ok(())
    }
}

impl Drop for PlacedFiles {
    fn drop(&mut self) {
        for file in &self.files {
            file.remove();
        }
        for directory in &self.directories {
            // It stays where the backend has put something beside.
            let _ = std::fs::remove_dir(directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_placed_goes_again_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        std::fs::create_dir(at("there")).unwrap();
        let files = ["there/a", "new/deep/b", "new/c"].map(|name| (at(name), b"x".to_vec()));
        let placed = PlacedFiles::place(&files).unwrap();
        assert!(files.iter().all(|(path, content)| std::fs::read(path).unwrap() == *content));
        std::fs::write(at("new/its own"), "y").unwrap();
        drop(placed);
        assert!(at("there").is_dir() && at("new/its own").is_file());
        assert!(!at("there/a").exists() && !at("new/deep").exists() && !at("new/c").exists());
    }

    #[test]
    fn what_cannot_be_placed_is_named_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        std::fs::write(at("file"), "f").unwrap();
        let files = ["new/a", "file/b"].map(|name| (at(name), Vec::new()));
        let error = PlacedFiles::place(&files).unwrap_err();
        assert!(error.contains("file/b"), "{error}");
        assert!(!at("new").exists() && at("file").is_file());
    }
}
