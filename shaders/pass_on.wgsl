// What came in leaves: for nodes whose work is done by how they read their edges (another order, the
// product of two). Twin: `permute` and `connect` in src/host/gathers.ts.
fn open(row: Row, i: u32) {
}

fn advance(row: Row, i: u32, t: u32, x: f32) -> f32 {
  return snap(x);
}

fn shut(row: Row, i: u32, end: u32) {
}
