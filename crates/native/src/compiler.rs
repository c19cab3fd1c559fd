//! The system's C compiler, and the folder of what it has compiled.

use ember_targets::c::Source;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{env, fs, io, process};
use thiserror::Error;
use wait_timeout::ChildExt;

/// The seconds after which a compiler is stopped.
const PATIENCE: u64 = 60;

/// The environment variable that names other seconds.
const LIMIT: &str = "EMBER_REWRITE_COMPILER_SECONDS";

/// The environment variable that names the compiler.
const CHOSEN: &str = "CC";

/// The environment variable that names the folder for compiled programs.
const FOLDER: &str = "EMBER_REWRITE_CACHE";

/// The commands that are tried.
const KNOWN: [&str; 3] = ["cc", "gcc", "clang"];

/// What a program is compiled with. Signed integers wrap, as those of programs do; nothing reads the error codes of the
/// C library's functions. Loops are long, and gcc is to make two of one that asks again and again how a tensor lies in
/// memory; clang does so without the parameter.
const FLAGS: [&str; 11] = [
    "-std=gnu11",
    "-O3",
    "--param=max-unswitch-insns=500",
    "-Wno-unused-command-line-argument",
    "-march=native",
    "-fwrapv",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wno-psabi",
    "-shared",
    "-fPIC",
];

/// True where a product and a sum may become one operation with one rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contraction {
    /// Each operation is rounded: the bits are the reference's.
    Off,
    /// Products and sums are fused where the processor can.
    Fast,
}

impl Contraction {
    fn flag(self) -> &'static str {
        match self {
            Contraction::Off => "-ffp-contract=off",
            Contraction::Fast => "-ffp-contract=fast",
        }
    }
}

/// The reason that a program was not compiled.
#[derive(Debug, Error)]
pub enum Error {
    /// There is no compiler.
    #[error("no C compiler was found; tried {}", .0.join(", "))]
    Missing(Vec<String>),
    /// The compiler cannot be run, or a file cannot be written.
    #[error("{0}: {1}")]
    System(String, io::Error),
    /// The compiler took too long.
    #[error("`{compiler}` did not end within {seconds} seconds")]
    Slow {
        /// The command.
        compiler: String,
        /// The limit.
        seconds: u64,
    },
    /// The compiler refused the program.
    #[error("`{compiler}` refuses the program: {message}")]
    Refused {
        /// The command.
        compiler: String,
        /// The first lines of its message.
        message: String,
    },
}

impl Error {
    /// Returns advice on what to do.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::Missing(_) => Some(format!(
                "install gcc 12 or clang 15, or a later one (Debian: `apt-get install gcc`), or name one in {CHOSEN}"
            )),
            Error::Refused { .. } => Some(
                "vectors and their conversions need gcc 12 or clang 15, or a later one; threads need its OpenMP \
                 (Debian: `libgomp1`, for clang `libomp-dev`)"
                    .to_owned(),
            ),
            Error::System(..) | Error::Slow { .. } => None,
        }
    }
}

/// An installed C compiler.
#[derive(Clone, Debug)]
pub struct Compiler {
    command: String,
    /// The first line of what `--version` prints.
    version: String,
    folder: PathBuf,
    patience: Duration,
}

impl Compiler {
    /// Finds the compiler: the one that `CC` names, or else `cc`, `gcc` or `clang`.
    ///
    /// # Errors
    ///
    /// Fails if none of them runs.
    pub fn find() -> Result<Compiler, Error> {
        let tried: Vec<String> = match env::var(CHOSEN) {
            Ok(chosen) if !chosen.trim().is_empty() => vec![chosen],
            _ => KNOWN.map(str::to_owned).to_vec(),
        };
        let patience = env::var(LIMIT).ok().and_then(|seconds| seconds.parse().ok());
        let patience = Duration::from_secs(patience.unwrap_or(PATIENCE));
        let mut slow = None;
        for command in &tried {
            match version(command, patience) {
                Ok(Some(version)) => {
                    let command = command.clone();
                    return Ok(Compiler { command, version, folder: folder(), patience });
                }
                Ok(None) => {}
                Err(error) => slow = Some(error),
            }
        }
        Err(slow.unwrap_or(Error::Missing(tried)))
    }

    /// Returns the first line of what the compiler says of itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Compiles a program to a shared library, unless that was done before, and returns its path.
    ///
    /// # Errors
    ///
    /// Fails if the compiler refuses the program or does not end, or if no folder can be written.
    pub fn compile(&self, source: &Source, contraction: Contraction) -> Result<PathBuf, Error> {
        let flags = flags(source, contraction);
        let name = self.key(&source.text, &flags);
        let (folder, written) = self.writable();
        let library = folder.join(format!("{name}.so"));
        if library.is_file() {
            return Ok(library);
        }
        written?;
        self.build(&source.text, &flags, &library)?;
        Ok(library)
    }

    /// Compiles a program to a shared library at a path.
    ///
    /// # Errors
    ///
    /// Fails as [`Compiler::compile`] does.
    pub fn compile_to(
        &self,
        source: &Source,
        contraction: Contraction,
        path: &Path,
    ) -> Result<(), Error> {
        self.build(&source.text, &flags(source, contraction), path)
    }

    /// Runs the compiler. The library gets its name when it is whole, so that another process never loads half of it.
    fn build(&self, text: &str, flags: &[&str], library: &Path) -> Result<(), Error> {
        let own = format!("{}.{}", library.display(), process::id());
        let (c, unfinished) =
            (PathBuf::from(format!("{own}.c")), PathBuf::from(format!("{own}.tmp")));
        let at = |path: &Path| {
            let path = path.display().to_string();
            move |error| Error::System(format!("cannot write `{path}`"), error)
        };
        fs::write(&c, text).map_err(at(&c))?;
        let ran = self.run(flags, &c, &unfinished);
        // What is left over is only in the way.
        let _ = fs::remove_file(&c);
        let done = ran.and_then(|()| fs::rename(&unfinished, library).map_err(at(library)));
        if done.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        done
    }

    fn run(&self, flags: &[&str], from: &Path, to: &Path) -> Result<(), Error> {
        let system = |error| Error::System(format!("cannot run `{}`", self.command), error);
        let messages = PathBuf::from(format!("{}.txt", to.display()));
        let stderr = fs::File::create(&messages).map_err(|error| {
            Error::System(format!("cannot write `{}`", messages.display()), error)
        })?;
        let mut command = Command::new(&self.command);
        command.args(flags).arg(from).arg("-o").arg(to).arg("-lm");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        let child = command.spawn().map_err(system)?;
        let status = ended(child, &self.command, self.patience);
        let message = first_lines(&messages);
        let _ = fs::remove_file(&messages);
        match status?.success() {
            true => Ok(()),
            false => Err(Error::Refused { compiler: self.command.clone(), message }),
        }
    }

    /// Returns a name for what the compiler makes of a text with these flags.
    fn key(&self, text: &str, flags: &[&str]) -> String {
        let mut hasher = SipHasher13::new();
        for part in
            [self.command.as_str(), &self.version, text].into_iter().chain(flags.iter().copied())
        {
            hasher.write(part.as_bytes());
            hasher.write_u8(0xff);
        }
        let hash = hasher.finish128();
        format!("{:016x}{:016x}", hash.h1, hash.h2)
    }

    /// Returns a folder for compiled programs, and whether it can be written: the user's, or else the system's for
    /// temporary files.
    fn writable(&self) -> (PathBuf, Result<(), Error>) {
        let probe = |folder: &Path| {
            fs::create_dir_all(folder)?;
            let own = folder.join(format!(".{}", process::id()));
            fs::write(&own, "")?;
            fs::remove_file(own)
        };
        if probe(&self.folder).is_ok() {
            return (self.folder.clone(), Ok(()));
        }
        let other = env::temp_dir().join("ember-rewrite");
        let written = probe(&other).map_err(|error| {
            Error::System(format!("cannot write to `{}`", other.display()), error)
        });
        (other, written)
    }
}

/// Returns the first line of what a command says of its version, if it runs.
fn version(command: &str, patience: Duration) -> Result<Option<String>, Error> {
    let ran = Command::new(command)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = ran else { return Ok(None) };
    let output = child.stdout.take();
    if !ended(child, command, patience)?.success() {
        return Ok(None);
    }
    let mut text = Vec::new();
    // A version is short, so a pipe holds it until the command has ended.
    if let Some(output) = output {
        let _ = output.take(2000).read_to_end(&mut text);
    }
    Ok(String::from_utf8_lossy(&text).lines().next().map(str::to_owned))
}

/// Waits until a command ends, or stops it.
fn ended(mut child: Child, command: &str, patience: Duration) -> Result<ExitStatus, Error> {
    let system = |error| Error::System(format!("cannot run `{command}`"), error);
    if let Some(status) = child.wait_timeout(patience).map_err(system)? {
        return Ok(status);
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(Error::Slow { compiler: command.to_owned(), seconds: patience.as_secs() })
}

/// Returns the flags for a program.
fn flags(source: &Source, contraction: Contraction) -> Vec<&'static str> {
    let threads = source.threaded.then_some("-fopenmp");
    FLAGS.into_iter().chain([contraction.flag()]).chain(threads).collect()
}

/// Returns the folder that the environment names, or that of the user's caches.
fn folder() -> PathBuf {
    let named = env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let user = || dirs::cache_dir().map(|folder| folder.join("ember-rewrite"));
    named.or_else(user).unwrap_or_else(|| env::temp_dir().join("ember-rewrite"))
}

/// Returns the first lines of a compiler's messages.
fn first_lines(path: &Path) -> String {
    let mut text = Vec::new();
    if let Ok(file) = fs::File::open(path) {
        let _ = file.take(2000).read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text);
    text.lines().take(6).collect::<Vec<_>>().join("\n")
}
