package fetch

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// gzipTransport requests gzip unless the request names an encoding, and decompresses the response while it is read. It is below
// Options.Wrap, which therefore sees the decompressed response. net/http could do the same, but would read without limit from a compressed
// body that yields no data.
type gzipTransport struct{ next http.RoundTripper }

func (u gzipTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Accept-Encoding") != "" {
		return u.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Accept-Encoding", "gzip")
	response, err := u.next.RoundTrip(r)
	if err != nil || !strings.EqualFold(response.Header.Get("Content-Encoding"), "gzip") {
		return response, err
	}
	response.Body = &gzipBody{from: compressedBody{ReadCloser: response.Body}}
	response.Header.Del("Content-Encoding")
	response.Header.Del("Content-Length")
	response.ContentLength, response.Uncompressed = -1, true
	return response, nil
}

// gzipBody decompresses a body.
type gzipBody struct {
	from compressedBody
	zip  *gzip.Reader // nil until the first Read
	err  error
}

func (b *gzipBody) Read(to []byte) (n int, err error) {
	if b.err == nil && b.zip == nil {
		b.zip, b.err = gzip.NewReader(&b.from)
	}
	if b.err != nil {
		return 0, b.err
	}
	n, b.err = b.zip.Read(to)
	b.from.ahead -= n
	return n, b.err
}

func (b *gzipBody) Close() error { return b.from.Close() }

// compressedBody is the compressed body of a response. Read fails once the compressed data is larger than the decompressed data by more
// than maxAhead.
type compressedBody struct {
	io.ReadCloser
	ahead int // compressed bytes that were read, minus decompressed bytes
}

// maxAhead is far more than gzip adds to incompressible data, which is 5 bytes per 64 KiB.
const maxAhead = 64 << 10

func (p *compressedBody) Read(to []byte) (n int, err error) {
	if p.ahead > maxAhead {
		return 0, fmt.Errorf("%w compressed than decompressed", ErrTooLarge)
	}
	n, err = p.ReadCloser.Read(to)
	p.ahead += n
	return n, err
}
