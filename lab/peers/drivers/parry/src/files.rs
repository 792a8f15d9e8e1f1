//! The files that batchbench writes: shapes as JSON, pairs as NPZ.

use serde::Deserialize;

/// An entry of the file of shapes. Lengths are metres, axes local z.
#[derive(Deserialize)]
pub struct Shape {
    pub kind: String,
    #[serde(default)]
    pub half_extents: Vec<f64>,
    #[serde(default)]
    pub semi_axes: Vec<f64>,
    #[serde(default)]
    pub radius: f64,
    #[serde(default)]
    pub half_length: f64,
    #[serde(default)]
    pub vertices: Vec<[f64; 3]>,
    #[serde(default)]
    pub triangles: Vec<[u32; 3]>,
}

#[derive(Deserialize)]
struct Shapes {
    shapes: Vec<Shape>,
}

/// Columns of pairs; rotations are (w, x, y, z).
pub struct Pairs {
    pub shape: [Vec<i32>; 2],
    pub position: [Vec<f64>; 2],
    pub rotation: [Vec<f64>; 2],
}

pub fn read_shapes(path: &str) -> Result<Vec<Shape>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let file: Shapes = serde_json::from_str(&text).map_err(|e| format!("{path}: {e}"))?;
    Ok(file.shapes)
}

pub fn read_pairs(path: &str) -> Result<Pairs, String> {
    let mut file = npyz::npz::NpzArchive::open(path).map_err(|e| format!("{path}: {e}"))?;
    let pairs = Pairs {
        shape: [column(&mut file, "shape_a")?, column(&mut file, "shape_b")?],
        position: [column(&mut file, "position_a")?, column(&mut file, "position_b")?],
        rotation: [column(&mut file, "rotation_a")?, column(&mut file, "rotation_b")?],
    };
    let n = pairs.shape[0].len();
    if (0..2).any(|k| {
        pairs.shape[k].len() != n || pairs.position[k].len() != 3 * n || pairs.rotation[k].len() != 4 * n
    }) {
        return Err(format!("{path}: columns of different lengths"));
    }
    Ok(pairs)
}

type Archive = npyz::npz::NpzArchive<std::io::BufReader<std::fs::File>>;

fn column<T: npyz::Deserialize>(file: &mut Archive, name: &str) -> Result<Vec<T>, String> {
    let array = file.by_name(name).map_err(|e| format!("{name}: {e}"))?;
    array.ok_or_else(|| format!("no array {name}"))?.into_vec().map_err(|e| format!("{name}: {e}"))
}
