package log

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

const (
	timeSize      = 8
	signatureMark = "— " // U+2014 and a space begin each signature of a note
)

// ParseCosigner parses the verifier key of a witness for Ed25519 cosignatures. The error is ErrVerifier. See C2SP tlog-cosignature.
func ParseCosigner(text string) (note.Verifier, error) {
	name, public, err := parseVerifier(text, typeCosignature)
	if err != nil {
		return nil, err
	}
	return &verifier{name, keyID(name, typeCosignature, public), func(message, signature []byte) bool {
		at, ok := cosignedAt(signature)
		return ok && ed25519.Verify(public, cosigned(message, at), signature[timeSize:])
	}}, nil
}

// cosignedAt returns the time in a cosignature, in Unix seconds.
func cosignedAt(signature []byte) (uint64, bool) {
	if len(signature) != timeSize+ed25519.SignatureSize {
		return 0, false
	}
	at := binary.BigEndian.Uint64(signature)
	return at, at <= math.MaxInt64
}

// cosigned returns the bytes that a cosignature covers.
func cosigned(text []byte, at uint64) []byte {
	head := strconv.AppendUint([]byte("cosignature/v1\ntime "), at, 10)
	return append(append(head, '\n'), text...)
}

// cosignatures returns those lines of a witness's response that are valid signatures of its key on a signed checkpoint, and the time of the
// newest. It ignores all other lines.
func cosignatures(signed, response []byte, witness note.Verifier) (valid [][]byte, newest time.Time) {
	text, _, found := bytes.Cut(signed, []byte("\n\n"))
	if !found {
		return nil, time.Time{}
	}
	text = append(bytes.Clone(text), '\n')
	for line := range bytes.Lines(response) {
		name, encoded, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(string(line), signatureMark), "\n"), " ")
		raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
		if !bytes.HasPrefix(line, []byte(signatureMark)) || !bytes.HasSuffix(line, []byte("\n")) || !ok || err != nil || len(raw) < 4 ||
			name != witness.Name() || binary.BigEndian.Uint32(raw) != witness.KeyHash() || !witness.Verify(text, raw[4:]) {
			continue
		}
		at, _ := cosignedAt(raw[4:])
		if t := time.Unix(int64(at), 0).UTC(); t.After(newest) {
			newest = t
		}
		valid = append(valid, bytes.Clone(line))
	}
	return valid, newest
}
