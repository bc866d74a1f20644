//! `arrow-digest-bench FILE ROUNDS [COLUMN…]`: reads the batches of an Arrow IPC file into memory, hashes them ROUNDS
//! times with one thread, and prints the digest and the CPU-bound wall seconds of every round, one per line.

use std::time::Instant;

use arrow::ipc::reader::FileReader;
use arrow::record_batch::RecordBatch;
use arrow_digest::{RecordDigest, RecordDigestV0};
use sha3::Sha3_256;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let file = std::fs::File::open(&arguments[1]).expect("open");
    let rounds: usize = arguments[2].parse().expect("rounds");
    let reader = FileReader::try_new(file, None).expect("read");
    let schema = reader.schema();
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.expect("batch")).collect();
    for round in 0..rounds {
        let started = Instant::now();
        let mut digest = RecordDigestV0::<Sha3_256>::new(&schema);
        for batch in &batches {
            digest.update(batch);
        }
        let hash = digest.finalize();
        let elapsed = started.elapsed().as_secs_f64();
        if round == 0 {
            println!("{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        }
        println!("{elapsed:.9}");
    }
}
