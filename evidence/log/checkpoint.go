package log

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/uimgate/uimgate/evidence"
)

// MaxCheckpoint is the maximum size of a signed checkpoint, in bytes.
const MaxCheckpoint = 64 << 10

const maxOrigin = 1024 // the maximum size of an origin, and of another name of a key, in bytes

// ErrCheckpoint means that the input is not a checkpoint.
var ErrCheckpoint = errors.New("not a checkpoint")

// A Checkpoint is the state of a log at a point in time. See C2SP tlog-checkpoint.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   evidence.Hash
	Time   time.Time // when it was signed, in whole seconds; zero if the checkpoint has no extension line with a time
}

// Origin returns the name of the log of an issuer in one epoch, which is also the name of its key. Characters that names of keys must not
// have are percent-encoded.
func Origin(issuer string, epoch int64) string {
	var b strings.Builder
	for _, r := range issuer {
		if r <= ' ' || r == '+' || r == '%' || r == 0x7f || r > 0x7f {
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.String() + "/uim-ledger/" + strconv.FormatInt(epoch, 10)
}

// Text returns the text of the checkpoint, without signatures.
func (c Checkpoint) Text() string {
	text := c.Origin + "\n" + strconv.FormatInt(c.Size, 10) + "\n" + base64.StdEncoding.EncodeToString(c.Root[:]) + "\n"
	if !c.Time.IsZero() {
		text += "time " + strconv.FormatInt(c.Time.Unix(), 10) + "\n"
	}
	return text
}

// ParseCheckpoint parses the text of a checkpoint, without signatures. It ignores unknown extension lines. The error wraps ErrCheckpoint.
func ParseCheckpoint(text string) (Checkpoint, error) {
	fail := func(want string) (Checkpoint, error) {
		return Checkpoint{}, fmt.Errorf("%w: want %s", ErrCheckpoint, want)
	}
	body, ended := strings.CutSuffix(text, "\n")
	parts := strings.Split(body, "\n")
	if len(text) > MaxCheckpoint || !ended || len(parts) < 3 {
		return fail("at least three lines")
	}
	if slices.Contains(parts, "") {
		return fail("no empty line")
	}
	c := Checkpoint{Origin: parts[0]}
	if len(c.Origin) > maxOrigin {
		return fail("an origin of at most 1024 bytes")
	}
	var ok bool
	if c.Size, ok = decimal(parts[1]); !ok || c.Size > MaxSize {
		return fail("a size")
	}
	if c.Root, ok = parseHash(parts[2]); !ok {
		return fail("a root in base64")
	}
	for _, line := range parts[3:] {
		seconds, is := strings.CutPrefix(line, "time ")
		if !is {
			continue
		}
		n, ok := decimal(seconds)
		if !ok || n == 0 || !c.Time.IsZero() {
			return fail("one time in seconds")
		}
		c.Time = time.Unix(n, 0).UTC()
	}
	return c, nil
}

// decimal parses a non-negative number without leading zeros.
func decimal(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// parseHash parses a hash in base64.
func parseHash(text string) (evidence.Hash, bool) {
	var h tlog.Hash
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != len(h) || len(text) != base64.StdEncoding.EncodedLen(len(h)) {
		return evidence.Hash{}, false
	}
	return evidence.Hash(raw), true
}

// Sign returns the checkpoint as a signed note.
func (c Checkpoint) Sign(signers ...note.Signer) ([]byte, error) {
	signed, err := note.Sign(&note.Note{Text: c.Text()}, signers...)
	if err != nil {
		return nil, fmt.Errorf("signing a checkpoint: %w", err)
	}
	return signed, nil
}

// A SignedCheckpoint is a checkpoint with the names and the times of its verified signatures.
type SignedCheckpoint struct {
	Checkpoint

	Signers []string // names of the keys
}

// OpenCheckpoint parses a signed checkpoint of at most MaxCheckpoint bytes, and verifies the signatures of the given keys. It ignores
// signatures of other keys. The error wraps ErrCheckpoint, or, if no key has signed or a signature does not verify, evidence.ErrSignature.
func OpenCheckpoint(signed []byte, verifiers ...note.Verifier) (SignedCheckpoint, error) {
	if len(signed) > MaxCheckpoint {
		return SignedCheckpoint{}, fmt.Errorf("%w: it has more than %d bytes", ErrCheckpoint, MaxCheckpoint)
	}
	n, err := note.Open(signed, note.VerifierList(verifiers...))
	if err != nil {
		if _, unverified := errors.AsType[*note.UnverifiedNoteError](err); unverified {
			return SignedCheckpoint{}, evidence.ErrSignature
		}
		if _, invalid := errors.AsType[*note.InvalidSignatureError](err); invalid {
			return SignedCheckpoint{}, evidence.ErrSignature
		}
		return SignedCheckpoint{}, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	c, err := ParseCheckpoint(n.Text)
	if err != nil {
		return SignedCheckpoint{}, err
	}
	out := SignedCheckpoint{Checkpoint: c}
	for _, s := range n.Sigs {
		out.Signers = append(out.Signers, s.Name)
	}
	return out, nil
}

// ReadCheckpoint parses a signed checkpoint without verifying its signatures. The error wraps ErrCheckpoint.
func ReadCheckpoint(signed []byte) (Checkpoint, error) {
	text, _, found := bytes.Cut(signed, []byte("\n\n"))
	if !found || len(signed) > MaxCheckpoint {
		return Checkpoint{}, fmt.Errorf("%w: want the text of a checkpoint and its signatures", ErrCheckpoint)
	}
	return ParseCheckpoint(string(text) + "\n")
}
