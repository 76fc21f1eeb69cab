//! Prints the digests that the crate `arrow-digest` computes of Arrow IPC streams.
//!
//! Each line of the output has the path of a stream, its digest batch by batch as the stream has them, and its digest
//! with each row as a batch of its own.

use std::fs::File;

use arrow::ipc::reader::StreamReader;
use arrow_digest::{RecordDigest, RecordDigestV0};
use sha3::Sha3_256;

fn main() {
    for path in std::env::args().skip(1) {
        let reader = StreamReader::try_new(File::open(&path).unwrap(), None).unwrap();
        let schema = reader.schema();
        let mut batches = RecordDigestV0::<Sha3_256>::new(&schema);
        let mut rows = RecordDigestV0::<Sha3_256>::new(&schema);
        for batch in reader {
            let batch = batch.unwrap();
            batches.update(&batch);
            for row in 0..batch.num_rows() {
                rows.update(&batch.slice(row, 1));
            }
        }
        println!("{path} {} {}", hex(&batches.finalize()), hex(&rows.finalize()));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|each| format!("{each:02x}")).collect()
}
