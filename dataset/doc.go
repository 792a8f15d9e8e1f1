// Package dataset reads and writes the files that users exchange: shape
// libraries as JSON; pairs, worlds and results as Parquet or NPZ.
//
// # Formats
//
// The extension of a path picks the format: .parquet or .npz. Column names, types
// and shapes are those of package batch; a row is a pair. Pairs hold shape_a and
// shape_b int32 [N], position_a and position_b float64 [N,3], rotation_a and
// rotation_b float64 [N,4]; int64 indices and float32 poses are read too, and an
// int64 index beyond int32 is clamped to its end, which no library holds.
// Results hold any of distance, gap, normal, witness_a, witness_b, status,
// iterations and method (the solver that ended the row, see [batch.Solver]);
// float32 files are single precision, float64 files double, but gap is float32
// always. Parquet carries the names of the statuses as text under the metadata
// key "status", and those of the solvers under "solvers". Worlds are arrays in NPZ;
// in Parquet a row is a body of a world, and the pairs that worlds share are
// metadata ([ReadWorlds], [ReadRollout], [ReadMotions]).
//
// # Streaming
//
// Pairs and results are read and written a chunk at a time in memory that
// depends on the chunk only, so a file may be larger than memory. Worlds, and
// results of rollouts and sweeps, are read as a whole.
//
// # Errors
//
// What is wrong with a file as a whole (missing, truncated, a missing or unknown
// column, a wrong type or shape, columns of different lengths, a null) ends the
// reading with an error that names file and column. What is wrong with one row
// (NaN, a zero quaternion, an index outside the library) is passed through as it
// is: package batch marks that row invalid and the other rows keep their
// answers. Damaged input gives an error, never a panic. What a reader
// allocates on the word of the file counts in one memory budget ([DefaultMemory],
// [WithMemory]): metadata of Parquet are walked for lengths and depth before they are
// decoded, and pages are decompressed to the size that their header declares, at
// most 256 MiB, whatever they unpack to. An NPZ file may hold some tens of arrays
// only. Only regular files are read, and folders of them.
//
// # Folders of parts
//
// A folder of Parquet or of NPZ files is one table, in the order of their names, of
// which numbers compare as numbers; names that begin with . or _ are ignored. All
// have the same columns and metadata. Results are written to a folder if their path
// ends with a separator or is that of an empty folder ([IsFolder]): Parquet files of
// 2^21 rows each, which say in their metadata which part of how many they are, so
// that a part that is missing is found.
//
// # Writing
//
// A file appears under its final name only when Close has returned nil: it is
// written under a temporary name in the same directory, synced and renamed.
// So does a folder of parts, all of which are complete then.
// After an error, or after Abort, nothing is left behind.
//
// # Layers and threads
//
// Packages table, npz and parquet read and write columns; this package says what rows mean. A reader or writer belongs
// to one goroutine at a time; distinct ones are independent. A call that reads or writes rows shares its work among
// goroutines of its own, one per processor unless [WithWorkers] or SetWorkers of a writer say otherwise, and returns
// when they have ended. Neither values nor the bytes of a file depend on their number.
package dataset
