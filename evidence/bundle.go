package evidence

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// BundleVersion is the version of the bundle format.
const BundleVersion = "1"

// A BundleHeader is the first line of a bundle.
type BundleHeader struct {
	Issuer string    `json:"issuer"`
	Agent  string    `json:"agent"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"` // the first moment after the period
	// Proofs is true if the gateway stores proofs of key, and false if it stores only their digests. It is nil if the writer of the bundle
	// does not know.
	Proofs *bool `json:"proofs,omitempty"`
}

// The bounds of a bundle. Verifiers report a bundle that exceeds one as damaged: see docs/evidence.md.
const (
	MostBundleLines = 1_000_000

	mostBundleLine     = 1 << 20 // bytes, with the line end
	mostBundleDocument = 8 << 20 // of lines of the types policy and agreement
	mostBundleBytes    = 4 << 30 // before the compression
)

// ErrBundleTooLarge means that a bundle would exceed a bound of the verifiers.
var ErrBundleTooLarge = errors.New("the bundle would be larger than verifiers read")

// A BundleWriter writes a bundle: lines of JSON, compressed with gzip, with everything that a verifier needs to check the charges of an
// agent without the gateway. It is not safe for concurrent use. After an error, all later calls return that error.
type BundleWriter struct {
	zipped *gzip.Writer
	buffer bytes.Buffer // the last line
	lines  *json.Encoder
	bounds bundleBounds
	count  int64 // lines
	size   int64 // bytes of all lines
	err    error
}

type bundleBounds struct {
	lines, bytes   int64
	line, document int
}

// NewBundleWriter begins a bundle. The caller must call Close. A line that would exceed a bound of the verifiers is an error that wraps
// ErrBundleTooLarge and names the bound.
func NewBundleWriter(w io.Writer, h BundleHeader) *BundleWriter {
	b := &BundleWriter{
		zipped: gzip.NewWriter(w),
		bounds: bundleBounds{MostBundleLines, mostBundleBytes, mostBundleLine, mostBundleDocument},
	}
	b.lines = json.NewEncoder(&b.buffer)
	b.lines.SetEscapeHTML(false)
	b.line("uim-evidence", struct {
		Version string `json:"version"`
		BundleHeader
	}{BundleVersion, h})
	return b
}

// line writes one line: the members of v, which must be encoded as an object, after the member type.
func (b *BundleWriter) line(kind string, v any) {
	if b.err != nil {
		return
	}
	members, err := json.Marshal(v)
	if err != nil {
		b.err = fmt.Errorf("encoding a line of type %s: %w", kind, err)
		return
	}
	text := append([]byte(`{"type":"`+kind+`",`), members[1:]...)
	b.buffer.Reset()
	if b.err = b.lines.Encode(json.RawMessage(text)); b.err != nil {
		return
	}
	if b.err = b.fits(kind); b.err != nil {
		return
	}
	b.count, b.size = b.count+1, b.size+int64(b.buffer.Len())
	_, b.err = b.zipped.Write(b.buffer.Bytes())
}

// fits returns an error if the line in the buffer must not be added to the bundle.
func (b *BundleWriter) fits(kind string) error {
	length, most := b.buffer.Len(), b.bounds.line
	if kind == "policy" || kind == "agreement" {
		most = b.bounds.document
	}
	switch {
	case length > most:
		return fmt.Errorf("%w: line %d of the type %s has %d bytes; the maximum is %d", ErrBundleTooLarge, b.count+1, kind, length, most)
	case b.count >= b.bounds.lines:
		return fmt.Errorf("%w: it needs more than %d lines", ErrBundleTooLarge, b.bounds.lines)
	case b.size+int64(length) > b.bounds.bytes:
		return fmt.Errorf("%w: it needs more than %d bytes before the compression", ErrBundleTooLarge, b.bounds.bytes)
	}
	return nil
}

// LimitLines sets the maximum number of lines, if it is below MostBundleLines.
func (b *BundleWriter) LimitLines(n int64) { b.bounds.lines = min(MostBundleLines, n) }

// Failed reports whether a line could not be written. Close returns the error.
func (b *BundleWriter) Failed() bool { return b.err != nil }

// Keys writes the key set of the service (RFC 7517), with uim_purpose in each key.
func (b *BundleWriter) Keys(jwks []byte) {
	b.line("keys", struct {
		JWKS json.RawMessage `json:"jwks"`
	}{jwks})
}

// Policy writes a policy document, byte for byte.
func (b *BundleWriter) Policy(uid, digest string, document []byte) {
	b.line("policy", struct {
		UID      string `json:"uid"`
		Digest   string `json:"digest"`
		Document string `json:"document"`
	}{uid, digest, base64.StdEncoding.EncodeToString(document)})
}

// Agreement writes the export of an agreement, in the form of uimgate agreements export.
func (b *BundleWriter) Agreement(export []byte) {
	b.line("agreement", struct {
		Export json.RawMessage `json:"export"`
	}{export})
}

// Decision writes the question that the policy decided for an execution.
func (b *BundleWriter) Decision(execution string, asked []byte) {
	b.line("decision", struct {
		Execution string `json:"execution"`
		Asked     string `json:"asked"`
		SHA256    string `json:"sha256"`
	}{execution, string(asked), Digest(asked)})
}

// Entry writes a receipt. If the entry has a proof of key, the proof must follow.
func (b *BundleWriter) Entry(receipt string) { b.signed("entry", receipt) }

// Proof writes a proof of key.
func (b *BundleWriter) Proof(execution, jws string) {
	b.line("proof", struct {
		Execution string `json:"execution"`
		JWS       string `json:"jws"`
	}{execution, jws})
}

// Statement writes a signed statement.
func (b *BundleWriter) Statement(jws string) { b.signed("statement", jws) }

// Invoice writes a signed invoice.
func (b *BundleWriter) Invoice(jws string) { b.signed("invoice", jws) }

func (b *BundleWriter) signed(kind, jws string) {
	b.line(kind, struct {
		JWS string `json:"jws"`
	}{jws})
}

// Checkpoint writes a checkpoint of the log.
func (b *BundleWriter) Checkpoint(text string) {
	b.line("checkpoint", struct {
		Text string `json:"text"`
	}{text})
}

// Consistency writes the proof that the log of size after begins with the log of size before.
func (b *BundleWriter) Consistency(before, after int64, hashes []Hash) {
	b.line("consistency", struct {
		Old    int64  `json:"old"`
		New    int64  `json:"new"`
		Hashes []Hash `json:"hashes"`
	}{before, after, hashes})
}

// LogProof writes the proof that the entry with a leaf hash is in the log.
func (b *BundleWriter) LogProof(entry Hash, text string) {
	b.line("tlog-proof", struct {
		Entry Hash   `json:"entry"`
		Text  string `json:"text"`
	}{entry, text})
}

// Close ends the bundle, and returns the first error.
func (b *BundleWriter) Close() error {
	if err := b.zipped.Close(); b.err == nil {
		b.err = err
	}
	return b.err
}
