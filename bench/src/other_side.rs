//! The other side: a script that runs beside this program and is asked line by line.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::Value as Json;

use crate::{Options, Outcome};

pub(crate) struct OtherSide {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl OtherSide {
    /// Starts the script; it tells its versions once networks and inputs are written.
    pub(crate) fn start(options: &Options) -> Outcome<(Self, Json)> {
        let mut command = Command::new(&options.python);
        command.arg(&options.script).arg("--models").arg(&options.models);
        command.arg("--export").arg(&options.work);
        command.args(["--threads", &options.threads.to_string()]);
        if options.processor {
            command.arg("--processor");
        }
        if options.avx2 {
            command.envs([("ATEN_CPU_CAPABILITY", "avx2"), ("ONEDNN_MAX_CPU_ISA", "AVX2")]);
            command.env("MKL_ENABLE_INSTRUCTIONS", "AVX2");
        }
        let given = [
            ("--cifar", &options.cifar),
            ("--mnist", &options.mnist),
            ("--digits", &options.digits),
        ];
        for (flag, file) in given {
            if let Some(file) = file {
                command.arg(flag).arg(file);
            }
        }
        let log = std::fs::File::create(options.work.join("other_side.log"))?;
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn()?;
        let commands = process.stdin.take().ok_or("no way to ask the other side")?;
        let answers = BufReader::new(process.stdout.take().ok_or("no way to hear it")?);
        let mut side = Self { process, commands, answers };
        let versions = side.answer()?;
        Ok((side, versions))
    }

    pub(crate) fn ask(&mut self, command: &str, case: &str) -> Outcome<Json> {
        writeln!(self.commands, "{command} {case}")?;
        self.commands.flush()?;
        self.answer()
    }

    fn answer(&mut self) -> Outcome<Json> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err("the other side stopped: see other_side.log in the working folder".into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for OtherSide {
    fn drop(&mut self) {
        // It ends at the latest when its input does; a failure to end it now changes nothing.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
