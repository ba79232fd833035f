package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/fetch"
)

const (
	witnessTimeout  = 2 * time.Second
	maxCosignatures = 16 << 10 // bytes
)

// The errors of witnesses.
var (
	// ErrWitness means that a witness did not cosign a checkpoint.
	ErrWitness = errors.New("the witness did not cosign the checkpoint")
	// ErrUnknownLog means that a witness is not configured for the log.
	ErrUnknownLog = errors.New("the witness does not know the log, or its key")
)

// A Witness requests cosignatures. See C2SP tlog-witness. It is safe for concurrent use.
type Witness struct {
	key    note.Verifier
	client *fetch.Client
	submit string

	mu    sync.Mutex
	sizes map[string]int64 // by origin: the last size that the witness cosigned
}

// NewWitness returns a Witness. key is its verifier key, and prefix its submission prefix. private permits http and addresses that are not
// on the public internet.
func NewWitness(key string, prefix *url.URL, private bool) (*Witness, error) {
	verifier, err := ParseCosigner(key)
	if err != nil {
		return nil, err
	}
	return &Witness{
		key: verifier, submit: strings.TrimSuffix(prefix.String(), "/") + "/add-checkpoint", sizes: map[string]int64{},
		client: fetch.New(fetch.Options{AllowInsecure: private, Timeout: witnessTimeout}),
	}, nil
}

// Name returns the name of the witness.
func (w *Witness) Name() string { return w.key.Name() }

// HasCosigned reports whether a signed checkpoint has a valid cosignature of the witness.
func (w *Witness) HasCosigned(signed []byte) bool {
	_, signatures, _ := bytes.Cut(signed, []byte("\n\n"))
	valid, _ := cosignatures(signed, signatures, w.key)
	return len(valid) > 0
}

// Close closes idle connections.
func (w *Witness) Close() { w.client.Close() }

// Cosign requests cosignatures on a signed checkpoint, and returns their lines and the time of the newest. prove returns the proof that the
// log at the checkpoint contains the log at an earlier size. Cosign makes at most two requests, of two seconds each. The error wraps
// ErrWitness or ErrUnknownLog, or is the error of ReadCheckpoint, of prove or of the HTTP request.
func (w *Witness) Cosign(ctx context.Context, signed []byte, prove func(before int64) ([]evidence.Hash, error)) ([]byte, time.Time, error) {
	c, err := ReadCheckpoint(signed)
	if err != nil {
		return nil, time.Time{}, err
	}
	w.mu.Lock()
	before := w.sizes[c.Origin]
	w.mu.Unlock()
	for range 2 {
		response, err := w.post(ctx, before, signed, prove)
		if err != nil {
			return nil, time.Time{}, err
		}
		switch response.Status {
		case http.StatusOK:
			valid, at := cosignatures(signed, response.Body, w.key)
			if len(valid) == 0 {
				return nil, time.Time{}, fmt.Errorf("%w: its response has no valid cosignature", ErrWitness)
			}
			w.know(c.Origin, c.Size)
			return bytes.Join(valid, nil), at, nil
		case http.StatusConflict:
			size, ok := decimal(strings.TrimSuffix(string(response.Body), "\n"))
			if !ok || size > c.Size {
				return nil, time.Time{}, fmt.Errorf("%w: it has cosigned a larger log, or another one of this size", ErrWitness)
			}
			w.know(c.Origin, size)
			before = size
		case http.StatusNotFound, http.StatusForbidden:
			return nil, time.Time{}, fmt.Errorf("%w: status %d", ErrUnknownLog, response.Status)
		default:
			return nil, time.Time{}, fmt.Errorf("%w: status %d", ErrWitness, response.Status)
		}
	}
	return nil, time.Time{}, fmt.Errorf("%w: it changed the size that it requires", ErrWitness)
}

func (w *Witness) know(origin string, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sizes[origin] = size
}

func (w *Witness) post(ctx context.Context, before int64, signed []byte, prove func(int64) ([]evidence.Hash, error)) (fetch.Answer, error) {
	proof, err := prove(before)
	if err != nil {
		return fetch.Answer{}, err
	}
	body := append(appendHashes([]byte("old "+strconv.FormatInt(before, 10)+"\n"), proof), '\n')
	return w.client.Do(ctx, fetch.Request{
		Method: http.MethodPost, URL: w.submit, Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body: append(body, signed...), Max: maxCosignatures,
	})
}
