//! Driver of parry3d in double precision. driver.hpp, one folder up, has the protocol
//! and says what the clock holds.

mod files;
mod peer;

use serde_json::{json, Value};
use std::io::{BufRead, Write};

/// Seconds of CPU time that the calling thread has used.
fn thread_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: t is valid for writing; the clock exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

/// The version of parry3d that Cargo resolved.
fn version() -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let package = lock.split("[[package]]").find(|p| p.contains("name = \"parry3d-f64\""));
    package.and_then(|p| p.split("version = \"").nth(1)).and_then(|v| v.split('"').next()).unwrap_or("unknown")
}

fn command(peer: &mut peer::Peer, fields: &[&str]) -> Result<Value, String> {
    let field = |i: usize| fields.get(i).copied().ok_or_else(|| format!("command {} lacks a field", fields[0]));
    match fields[0] {
        "hello" => Ok(json!({"name": "parry3d", "version": version(), "flags": env!("PEER_FLAGS")})),
        "shapes" => Ok(json!({"count": peer.shapes(&files::read_shapes(field(1)?)?)?})),
        "pairs" => {
            let pairs = files::read_pairs(field(1)?)?;
            Ok(json!({"count": peer.pairs(&pairs)?}))
        }
        "configurations" => Ok(json!({"configurations": peer.configurations(peer::Question::parse(field(1)?)?)})),
        "run" => {
            let question = peer::Question::parse(field(1)?)?;
            let dispatched = field(2)? == peer::DISPATCHED;
            let start = thread_seconds();
            peer.run(question, dispatched);
            Ok(json!({"seconds": thread_seconds() - start}))
        }
        "answers" => {
            let bytes: Vec<u8> = peer.out.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
            std::fs::write(field(1)?, bytes).map_err(|e| e.to_string())?;
            Ok(json!({"count": peer.out.len()}))
        }
        other => Err(format!("unknown command {other}")),
    }
}

fn main() {
    let mut peer = peer::Peer::default();
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("standard input");
        if line == "quit" {
            break;
        }
        let fields: Vec<&str> = line.split('\t').collect();
        let reply = command(&mut peer, &fields).unwrap_or_else(|e| json!({"error": e}));
        writeln!(out, "{reply}").and_then(|_| out.flush()).expect("standard output");
    }
}
