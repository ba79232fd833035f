package log

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/uimgate/uimgate/evidence"
)

const (
	proofHeader = "c2sp.org/tlog-proof@v1\n"
	maxPath     = 63 // hashes
	maxProof    = MaxCheckpoint + 8<<10
)

// The errors of proofs.
var (
	// ErrProof means that the input is not a proof.
	ErrProof = errors.New("not a proof of inclusion")
	// ErrNotIncluded means that a proof does not show that the leaf is in the log.
	ErrNotIncluded = errors.New("the proof does not lead to the root of the checkpoint")
)

// A Proof proves that a leaf is in a log. See C2SP tlog-proof v1; extra data is ignored.
type Proof struct {
	Index      int64
	Hashes     []evidence.Hash // the path of RFC 6962, section 2.1.1
	Checkpoint []byte          // a signed checkpoint; empty if the reader has it
}

// Text returns the text of the proof.
func (p Proof) Text() []byte {
	out := append([]byte(proofHeader+"index "), strconv.FormatInt(p.Index, 10)...)
	out = append(out, '\n')
	return append(append(appendHashes(out, p.Hashes), '\n'), p.Checkpoint...)
}

// appendHashes appends a line of base64 for each hash.
func appendHashes(out []byte, hashes []evidence.Hash) []byte {
	for _, h := range hashes {
		out = append(base64.StdEncoding.AppendEncode(out, h[:]), '\n')
	}
	return out
}

// HashLines returns a line of base64 for each hash, the form of a consistency proof.
func HashLines(hashes []evidence.Hash) []byte { return appendHashes(nil, hashes) }

// ParseHashLines parses the result of HashLines, of at most 63 hashes. The error wraps ErrProof.
func ParseHashLines(text []byte) (hashes []evidence.Hash, err error) {
	for line := range bytes.Lines(text) {
		body, ended := bytes.CutSuffix(line, []byte("\n"))
		h, ok := parseHash(string(body))
		if !ended || !ok || len(hashes) == maxPath {
			return nil, fmt.Errorf("%w: want at most %d lines of base64", ErrProof, maxPath)
		}
		hashes = append(hashes, h)
	}
	return hashes, nil
}

// ParseProof parses the text of a proof. It ignores extra data. The error wraps ErrProof.
func ParseProof(text []byte) (Proof, error) {
	fail := func(want string) (Proof, error) { return Proof{}, fmt.Errorf("%w: want %s", ErrProof, want) }
	head, checkpoint, found := bytes.Cut(text, []byte("\n\n"))
	rest, ok := strings.CutPrefix(string(head)+"\n", proofHeader)
	if len(text) > maxProof || !found || !ok {
		return fail("the line " + strings.TrimSpace(proofHeader) + ", a proof and a checkpoint")
	}
	if extra, after, is := strings.Cut(rest, "\n"); is && strings.HasPrefix(extra, "extra ") {
		if _, err := base64.StdEncoding.Strict().DecodeString(extra[len("extra "):]); err != nil {
			return fail("extra data in base64")
		}
		rest = after
	}
	line, rest, _ := strings.Cut(rest, "\n")
	number, ok := strings.CutPrefix(line, "index ")
	index, whole := decimal(number)
	if !ok || !whole {
		return fail("an index")
	}
	hashes, err := ParseHashLines([]byte(rest))
	if err != nil {
		return Proof{}, err
	}
	if len(checkpoint) == 0 {
		checkpoint = nil
	}
	return Proof{Index: index, Hashes: hashes, Checkpoint: checkpoint}, nil
}

// Verify checks that a leaf is in the log with the given checkpoint, whose signatures it does not verify. The error is ErrNotIncluded.
func (p Proof) Verify(c Checkpoint, leaf evidence.Hash) error {
	if p.Index < 0 || p.Index >= c.Size ||
		tlog.CheckRecord(tlog.RecordProof(tlogHashes(p.Hashes)), c.Size, tlog.Hash(c.Root), p.Index, tlog.Hash(leaf)) != nil {
		return ErrNotIncluded
	}
	return nil
}

// CheckConsistency checks that the log at the checkpoint before is a prefix of the log at the checkpoint after. The error is
// ErrNotConsistent.
func CheckConsistency(before, after Checkpoint, proof []evidence.Hash) error {
	switch {
	case before.Origin != after.Origin || before.Size > after.Size:
		return ErrNotConsistent
	case before.Size == 0:
		return nil
	case before.Size == after.Size:
		if before.Root != after.Root {
			return ErrNotConsistent
		}
		return nil
	}
	if tlog.CheckTree(tlogHashes(proof), after.Size, tlog.Hash(after.Root), before.Size, tlog.Hash(before.Root)) != nil {
		return ErrNotConsistent
	}
	return nil
}

// ErrNotConsistent means that a log does not contain its earlier state.
var ErrNotConsistent = errors.New("the log does not contain the earlier checkpoint")
