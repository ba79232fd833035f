package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"runtime"
	"sync"
)

// Only public documents are compressed: the catalogue, the policy, search results and pages. Responses with outputs or PATs are not: the
// compressed size of a response that contains both a secret and an attacker's input can reveal the secret (BREACH).

// worthZipping is the size of the smallest response that is compressed, in bytes.
const worthZipping = 1 << 10

// A gzipBody holds the compressed body of a document. It is built for the first client that accepts gzip.
type gzipBody struct {
	once sync.Once
	body []byte // nil: the compressed body would not be smaller
}

// gzip returns the compressed body, or nil if the document is small, the client does not accept gzip, or compression would not make the
// body smaller.
func (d *document) gzip(r *http.Request) []byte {
	if len(d.body) < worthZipping || !takesGzip(r.Header.Values("Accept-Encoding")) {
		return nil
	}
	d.zipped.once.Do(func() {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, _ = w.Write(d.body) // writing to a Buffer cannot fail
		_ = w.Close()
		if out.Len() < len(d.body) {
			d.zipped.body = bytes.Clone(out.Bytes())
		}
	})
	return d.zipped.body
}

// takesGzip reports whether the Accept-Encoding fields of a request accept gzip, by name or with * (RFC 9110 12.5.3).
func takesGzip(fields []string) bool {
	of := weights(fields)
	weight, named := of["gzip"]
	if other, has := of["x-gzip"]; has {
		weight, named = max(weight, other), true
	}
	return weight > 0 || !named && of["*"] > 0
}

// zippers is a pool of gzip writers for documents that are built for a single request. It has one writer of about 1 MB for each
// processor, so its memory does not grow with the number of requests.
type zippers chan *gzip.Writer

func newZippers() zippers {
	z := make(zippers, runtime.GOMAXPROCS(0))
	for range cap(z) {
		z <- nil // created on first use
	}
	return z
}

// zip waits for a free writer and compresses body. If ctx ends first, zip returns the error of ctx.
func (z zippers) zip(ctx context.Context, body []byte) ([]byte, error) {
	var w *gzip.Writer
	select {
	case w = <-z:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { z <- w }()
	var out bytes.Buffer
	if w == nil {
		w, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for an invalid level
	}
	w.Reset(&out)
	_, _ = w.Write(body) // writing to a Buffer cannot fail
	_ = w.Close()
	w.Reset(nil) // releases out
	return out.Bytes(), nil
}
