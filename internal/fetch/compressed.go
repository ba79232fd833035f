package fetch

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// gzipTransport requests gzip if a request names no coding, and decompresses the response as it is read. It is below Options.Wrap, which
// sees the decompressed response. net/http could do the same, but never stops reading a body without content.
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

// gzipBody is a decompressed body.
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

// compressedBody is a compressed body. It reads no more of the body than its content justifies.
type compressedBody struct {
	io.ReadCloser
	ahead int // bytes read, minus decompressed bytes
}

// maxAhead is far above what gzip adds to data that cannot be compressed, 5 bytes in 64 KiB.
const maxAhead = 64 << 10

func (p *compressedBody) Read(to []byte) (n int, err error) {
	if p.ahead > maxAhead {
		return 0, fmt.Errorf("%w compressed than decompressed", ErrTooLarge)
	}
	n, err = p.ReadCloser.Read(to)
	p.ahead += n
	return n, err
}
