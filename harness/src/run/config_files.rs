//! Configuration files of a backend: placed before its start, taken away after its end, so that
//! what is left in a home or workspace is the backend's own doing. Main type: [`PlacedFiles`].

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::held_file::HeldFile;

/// The files that were placed; removed on drop.
#[derive(Debug, Default)]
pub(super) struct PlacedFiles {
    /// The files and their contents, then the directories made for them, innermost first.
    files: Vec<(HeldFile, Vec<u8>)>,
    directories: Vec<PathBuf>,
}

impl PlacedFiles {
    /// Makes each file, and the directories that it needs. What a launch of the same arm has placed,
    /// one of `beside`, serves this one, too.
    ///
    /// # Errors
    /// The path that cannot be written, or at which something is already, and the error.
    pub(super) fn place(files: &[(PathBuf, Vec<u8>)], beside: &[Self]) -> Result<Self, String> {
        let mut placed = Self::default();
        for (path, content) in files {
            let made = placed.make(path, content, beside);
            made.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(placed)
    }

    fn make(&mut self, path: &Path, content: &[u8], beside: &[Self]) -> Result<(), String> {
        let own = std::iter::once(&*self).chain(beside);
        if let Some(there) = own.filter_map(|placed| placed.content_of(path)).next() {
            return match there == content {
                true => Ok(()),
                false => Err("another content for the same place; put {{ state }} into it".into()),
            };
        }
        self.directories_for(path).map_err(|error| error.to_string())?;
        let held = HeldFile::open(path).map_err(|error| error.to_string())?;
        let mut file = held.create_new().map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                "something is there that this run has not placed; name another place".to_owned()
            }
            _ => error.to_string(),
        })?;
        self.files.push((held, content.to_owned()));
        file.write_all(content).map_err(|error| error.to_string())
    }

    /// The content that was placed at `path`.
    fn content_of(&self, path: &Path) -> Option<&[u8]> {
        let file = self.files.iter().find(|(file, _)| file.path() == path);
        file.map(|(_, content)| content.as_slice())
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
        for (file, _) in &self.files {
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
        let placed = PlacedFiles::place(&files, &[]).unwrap();
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
        let error = PlacedFiles::place(&files, &[]).unwrap_err();
        assert!(error.contains("file/b"), "{error}");
        assert!(!at("new").exists() && at("file").is_file());
    }

    #[test]
    fn what_is_there_stays_and_is_named() {
        let home = tempfile::tempdir().unwrap();
        let at = |path: &str| home.path().join(path);
        std::fs::write(at("own"), "mine").unwrap();
        std::os::unix::fs::symlink(at("own"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("nowhere"), at("dangling")).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        for name in ["own", "link", "dangling", "directory"] {
            let files = ["before", name].map(|name| (at(name), b"x".to_vec()));
            let error = PlacedFiles::place(&files, &[]).unwrap_err();
            assert!(error.contains(&format!("/{name}: something is there")), "{error}");
            assert!(at(name).symlink_metadata().is_ok() && !at("before").exists(), "{name}");
        }
        assert_eq!(std::fs::read(at("own")).unwrap(), b"mine");
        assert!(!at("nowhere").exists());
    }

    #[test]
    fn launches_of_one_arm_share_a_place_for_the_same_content() {
        let home = tempfile::tempdir().unwrap();
        let file = |content: &str| [(home.path().join("a"), content.as_bytes().to_vec())];
        let beside = [PlacedFiles::place(&file("x"), &[]).unwrap()];
        drop(PlacedFiles::place(&file("x"), &beside).unwrap());
        assert_eq!(std::fs::read(home.path().join("a")).unwrap(), b"x");
        let error = PlacedFiles::place(&file("y"), &beside).unwrap_err();
        assert!(error.contains("another content"), "{error}");
    }
}
