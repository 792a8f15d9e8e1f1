// Package scaling measures how much of the CPU time of a row is spent in workers, of which a machine has as many as
// cores, and how much outside them, in goroutines of which a call has one. From both, and from the bytes that a row
// moves, follow the rows per second of machines with more cores.
//
// # What the clocks hold
//
// Inside are the threads of workers from when they take rows until none are left (package internal/meter): solvers,
// counts, culling and folding of rollouts, decoding and encoding of files, audits. Outside is all other CPU time of the
// process: opening, ordering, reports, the collector of garbage, and system calls of goroutines that are no workers. Of
// several rounds the one with the least CPU time counts.
//
// What is outside is divided in proportion to samples of a CPU profile of more calls: code of the goroutines of the
// call, of which there is one however many cores there are; their system calls, which are those of files; and the
// runtime of Go, whose monitor, scheduler and collector run beside them. A page fault counts where the memory was
// touched.
//
// # What is predicted
//
// The CPU time of a row on c cores is at least (inside + runtime)/c + own + kernel, by Amdahl's law: stages that
// overlap are not taken off. Where outside is not divided, all of it counts as one goroutine's. The rate is bounded by
// the bandwidth of the memory over the bytes of a row, too: those of its columns and files, counted once for each stage
// that reads or writes them. Caches that are shared, clocks that fall with the number of busy cores, and memory of
// other sockets are not predicted.
//
// # Threads and errors
//
// One measurement runs at a time, since CPU time is that of the process. It needs Linux.
package scaling
