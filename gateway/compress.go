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

// Only public documents are compressed: catalogue, policy, search and pages. Responses to calls and tokens are not: the compressed size
// of a text that mixes secrets with an attacker's words reveals the secrets (BREACH).

// worthZipping is the size of the smallest response that is compressed, in bytes.
const worthZipping = 1 << 10

// gzipBody is a document's compressed body, made at its first request.
type gzipBody struct {
	once sync.Once
	body []byte // nil: it is not smaller
}

// gzip returns the compressed body for a client that accepts it; nil: the client gets the uncompressed body.
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

// takesGzip reports whether a client accepts gzip by name, or anything. RFC 9110 12.5.3.
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

// weighed splits gzip;q=0.5. An invalid weight counts as 0, so that the coding is not accepted.
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

// zippers compress documents that are made for one request. There is one for each processor, which bounds their memory, about 1 MB each,
// for any number of requests.
type zippers chan *gzip.Writer

func newZippers() zippers {
	z := make(zippers, runtime.GOMAXPROCS(0))
	for range cap(z) {
		z <- nil // made at its first use
	}
	return z
}

// zip compresses body once one of the zippers is free, within the time of the context.
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
		w, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a constant of the package
	}
	w.Reset(&out)
	_, _ = w.Write(body) // writing to a Buffer cannot fail
	_ = w.Close()
	w.Reset(nil) // release the response
	return out.Bytes(), nil
}
