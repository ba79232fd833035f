// Package log makes and verifies a transparency log over the entries of a ledger: an append-only Merkle tree (RFC 6962 section 2.1) whose
// size and root are signed as a checkpoint.
//
// A gateway appends leaf hashes to a Tree, stores the Tiles that change, and signs a Checkpoint. A Reader makes proofs from stored tiles.
// An agent verifies them without the gateway:
//
//	p, err := log.ParseProof(text)
//	c, err := log.OpenCheckpoint(p.Checkpoint, verifier)
//	err = p.Verify(c.Checkpoint, leaf)
//
// The formats are those of C2SP: tlog-tiles with height 8, tlog-checkpoint, signed-note, tlog-proof and tlog-witness. The package makes no
// requests except to witnesses, and stores nothing.
package log
