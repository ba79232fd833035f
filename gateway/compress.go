package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"runtime"
	"strconv"
	"strings"
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
	const most = 32 // codings; known clients send fewer
	byName, byStar := -1.0, -1.0
	n := 0
	for entry := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		if n++; n > most {
			break
		}
		coding, weight := weighed(entry)
		switch strings.ToLower(coding) {
		case "gzip", "x-gzip":
			byName = max(byName, weight)
		case "*":
			byStar = max(byStar, weight)
		}
	}
	if byName >= 0 {
		return byName > 0
	}
	return byStar > 0
}

// weighed splits an entry such as gzip;q=0.5 into the coding and its weight. It returns the weight 0 (not accepted) if the weight is
// invalid.
func weighed(entry string) (coding string, weight float64) {
	coding, params, has := strings.Cut(entry, ";")
	coding = strings.TrimSpace(coding)
	if !has {
		return coding, 1
	}
	name, value, _ := strings.Cut(params, "=")
	weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if !strings.EqualFold(strings.TrimSpace(name), "q") || err != nil || !(weight >= 0 && weight <= 1) {
		return coding, 0
	}
	return coding, weight
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
