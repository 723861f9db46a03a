//! Bytes that are nearly right: seeds with some of them changed, doubled, cut or exchanged. The same
//! seeds, name and number give the same bytes.

/// The most bytes of an input.
const MOST_BYTES: usize = 1 << 15;

/// Pieces that readers take for something.
const PIECES: [&[u8]; 34] = [
    b"\0",
    b"\n",
    b"\r\n",
    b"\t",
    b" ",
    b"\"",
    b"'",
    b"\\",
    b"`",
    b"$(",
    b"${",
    b"}",
    b"{",
    b"[",
    b"]",
    b"(",
    b")",
    b"/",
    b"..",
    b"*",
    b"**",
    b"?",
    b":",
    b"- ",
    b"#",
    b"&",
    b"|",
    b"<<",
    b"\xff",
    b"\xe2\x80\xae",
    b"\xef\xbb\xbf",
    b"18446744073709551616",
    b"-1",
    b"1e999",
];

/// A source of inputs.
pub(crate) struct ByteMutator<'a> {
    seeds: &'a [Vec<u8>],
    state: u64,
}

impl<'a> ByteMutator<'a> {
    /// A source of inputs like `seeds`, which are not empty, that differ by `number`.
    pub(crate) fn new(seeds: &'a [Vec<u8>], number: u64) -> Self {
        Self { seeds, state: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// The next input.
    pub(crate) fn input(&mut self) -> Vec<u8> {
        let mut bytes = self.seed().to_vec();
        for _ in 0..=self.below(5) {
            self.change(&mut bytes);
        }
        bytes.truncate(MOST_BYTES);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let (from, to) = self.part(bytes.len());
        match self.below(8) {
            0 => {
                bytes.iter_mut().skip(from).take(1).for_each(|byte| *byte ^= 1 << (self.state % 8));
            }
            1 => bytes.truncate(to),
            2 => drop(bytes.drain(from..to)),
            3 => self.insert(bytes, from, 1),
            4 => {
                let times = 1 << self.below(12);
                self.insert(bytes, from, times);
            }
            5 => {
                let part = bytes[from..to].to_vec();
                bytes.splice(from..from, part);
            }
            6 => {
                let part = bytes[from..to].to_vec();
                let times = (MOST_BYTES / part.len().max(1)).min(1 << self.below(10));
                bytes.splice(from..from, part.repeat(times));
            }
            _ => {
                let other = self.seed();
                let (start, end) = self.part(other.len());
                bytes.splice(from..to, other[start..end].iter().copied());
            }
        }
    }

    fn insert(&mut self, bytes: &mut Vec<u8>, at: usize, times: usize) {
        let piece = PIECES[self.below(PIECES.len())];
        bytes.splice(at..at, piece.repeat(times));
    }

    fn seed(&mut self) -> &'a [u8] {
        let seeds = self.seeds;
        &seeds[self.below(seeds.len())]
    }

    /// The ends of a part of `length` bytes.
    fn part(&mut self, length: usize) -> (usize, usize) {
        let (one, other) = (self.below(length + 1), self.below(length + 1));
        (one.min(other), one.max(other))
    }

    /// A number below `limit`, by xorshift.
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % limit.max(1) as u64) as usize
    }
}

/// Feeds `reader` with `seeds` as they are, then with inputs like them: as many as `inputs`, or, where
/// `BOXPROOF_FUZZ_SECONDS` is set, for that time and with other inputs each day. Where
/// `BOXPROOF_FUZZ_LAST` names a file, it holds the last input, also of a process that was aborted.
///
/// # Panics
/// Where the reader does, with the number of the input; and where one input takes it longer than ten
/// seconds.
pub(crate) fn feed(name: &str, seeds: &[Vec<u8>], inputs: u64, reader: fn(&[u8])) {
    let seconds = std::env::var("BOXPROOF_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let (sender, receiver) = std::sync::mpsc::channel::<Vec<u8>>();
    let kept = std::env::var_os("BOXPROOF_FUZZ_LAST");
    let watch = std::thread::spawn(move || watch_until_deadline(&receiver));
    let mut one = |bytes: Vec<u8>| {
        kept.iter().for_each(|file| drop(std::fs::write(file, &bytes)));
        sender.send(bytes.clone()).unwrap_or_else(|_| panic!("{name}: nothing watches"));
        if let Err(panicked) = std::panic::catch_unwind(|| reader(&bytes)) {
            eprintln!("{name}: {:?}", String::from_utf8_lossy(&bytes));
            std::panic::resume_unwind(panicked);
        }
    };
    seeds.iter().cloned().for_each(&mut one);
    let began = std::time::Instant::now();
    let start = if seconds.is_some() { day() << 32 } else { 0 };
    for number in start.. {
        let is_over = match seconds {
            Some(seconds) => began.elapsed() >= std::time::Duration::from_secs(seconds),
            None => number >= inputs,
        };
        if is_over {
            break;
        }
        one(ByteMutator::new(seeds, number).input());
    }
    drop(sender);
    watch.join().unwrap_or_else(|_| panic!("{name}: nothing watches"));
}

/// Ends the process where the reader is at one input for ten seconds, and shows the input.
fn watch_until_deadline(inputs: &std::sync::mpsc::Receiver<Vec<u8>>) {
    let patience = std::time::Duration::from_secs(10);
    let mut last = Vec::new();
    loop {
        match inputs.recv_timeout(patience) {
            Ok(bytes) => last = bytes,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                eprintln!("ten seconds for one input: {:?}", String::from_utf8_lossy(&last));
                std::process::abort();
            }
        }
    }
}

/// The number of days since 1970.
fn day() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs() / 86_400)
}
