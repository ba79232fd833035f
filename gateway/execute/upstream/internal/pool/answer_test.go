package pool_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
)

// kept are the header fields of responses that the tests read.
var kept = []string{"Content-Type", "Retry-After"}

// A recordedConn is a connection that returns these bytes, then EOF.
type recordedConn struct {
	net.Conn

	bytes *bytes.Reader
}

func (s recordedConn) Read(p []byte) (int, error) { return s.bytes.Read(p) }

// answerOf reads the whole response to a request with this method.
func answerOf(tb testing.TB, method string, raw []byte) (a *pool.Answer, body []byte, reusable bool, err error) {
	tb.Helper()
	p, err := pool.New(pool.Config{URL: &url.URL{Scheme: "http", Host: "x"}, MaxConns: 1, MaxHeader: 64 << 10, Keep: kept, Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	c := pool.NewConn(p, recordedConn{bytes: bytes.NewReader(raw)}, method)
	if a, err = c.Answer(); err != nil {
		return nil, nil, false, err
	}
	body, err = io.ReadAll(a.Body)
	return a, body, c.Reusable(), err
}

func TestReadingResponses(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	long := strings.Repeat("x", 9000)
	for name, c := range map[string]struct {
		method   string // empty: GET
		raw      string
		status   int // 0: none
		body     string
		reusable bool
	}{
		"Content-Length":                         {raw: ok + "Content-Length: 2\r\n\r\nhi", status: 200, body: "hi", reusable: true},
		"more bytes than Content-Length":         {raw: ok + "Content-Length: 2\r\n\r\nhi!", status: 200, body: "hi"},
		"equal Content-Length twice":             {raw: ok + "Content-Length: 2\r\ncontent-length:2\r\n\r\nhi", status: 200, body: "hi", reusable: true},
		"two Content-Lengths":                    {raw: ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!"},
		"two notations of a Content-Length":      {raw: ok + "Content-Length: 2\r\nContent-Length: 02\r\n\r\nhi"},
		"list of Content-Lengths":                {raw: ok + "Content-Length: 2, 2\r\n\r\nhi"},
		"negative Content-Length":                {raw: ok + "Content-Length: -2\r\n\r\nhi"},
		"Content-Length with a sign":             {raw: ok + "Content-Length: +2\r\n\r\nhi"},
		"empty Content-Length":                   {raw: ok + "Content-Length:\r\n\r\nhi"},
		"Content-Length too large":               {raw: ok + "Content-Length: 9223372036854775808\r\n\r\nhi"},
		"no body":                                {raw: ok + "Content-Length: 0\r\n\r\n", status: 200, reusable: true},
		"body until the connection closes":       {raw: ok + "\r\nhi", status: 200, body: "hi"},
		"chunks":                                 {raw: ok + "Transfer-Encoding: Chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", status: 200, body: "hi", reusable: true},
		"chunks and a trailer":                   {raw: ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nA: b\r\n\r\n", status: 200, body: "hi", reusable: true},
		"chunked with Content-Length":            {raw: ok + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", status: 200, body: "hi"},
		"chunked in HTTP/1.0":                    {raw: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"},
		"chunked twice":                          {raw: ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		"chunked and another coding":             {raw: ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
		"invalid chunks":                         {raw: ok + "Transfer-Encoding: identity\r\n\r\nhi"},
		"Content-Length in the trailer":          {raw: ok + "Transfer-Encoding: chunked\r\nTrailer: A, content-length\r\n\r\n0\r\n\r\n"},
		"HTTP/1.0":                               {raw: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: "hi"},
		"HTTP/1.0 with keep-alive":               {raw: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: "hi", reusable: true},
		"Connection: close":                      {raw: ok + "Connection: x, Close\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: "hi"},
		"HTTP/2":                                 {raw: "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nhi"},
		"another protocol":                       {raw: "ICY 200 OK\r\nContent-Length: 2\r\n\r\nhi"},
		"no reason phrase":                       {raw: "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", status: 404, reusable: true},
		"status of two digits":                   {raw: "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"},
		"a status with a sign":                   {raw: "HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n"},
		"status below 100":                       {raw: "HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n"},
		"a carriage return alone":                {raw: "HTTP/1.1 200 O\rK\r\nContent-Length: 0\r\n\r\n"},
		"carriage return in a field":             {raw: ok + "A: b\rc\r\nContent-Length: 0\r\n\r\n"},
		"lines that end with LF":                 {raw: "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", status: 200, body: "hi", reusable: true},
		"a field in two lines":                   {raw: ok + "A: b\r\n c\r\nContent-Length: 0\r\n\r\n"},
		"a space before a colon":                 {raw: ok + "Content-Length : 0\r\n\r\n"},
		"a field without a name":                 {raw: ok + ": x\r\nContent-Length: 0\r\n\r\n"},
		"a line without a colon":                 {raw: ok + "x\r\nContent-Length: 0\r\n\r\n"},
		"a long field":                           {raw: ok + "X: " + long + "\r\nContent-Length: 2\r\n\r\nhi", status: 200, body: "hi", reusable: true},
		"a head that is too long":                {raw: ok + strings.Repeat("X: "+long+"\r\n", 8) + "Content-Length: 2\r\n\r\nhi"},
		"interim responses before the final one": {raw: "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nA: b\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n", status: 200, reusable: true},
		"only interim responses":                 {raw: "HTTP/1.1 100 C\r\n\r\n"},
		"switch of protocols":                    {raw: "HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\nhi", status: 101},
		"204":                                    {raw: "HTTP/1.1 204 N\r\nContent-Length: 0\r\n\r\n", status: 204, reusable: true},
		"204 with Content-Length":                {raw: "HTTP/1.1 204 N\r\nContent-Length: 2\r\n\r\n", status: 204},
		"204 chunked":                            {raw: "HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n", status: 204},
		"interim response with Content-Length":   {raw: "HTTP/1.1 103 E\r\nContent-Length: 2\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n"},
		"interim response chunked":               {raw: "HTTP/1.1 103 E\r\nTransfer-Encoding: chunked\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n"},
		"304":                                    {raw: "HTTP/1.1 304 N\r\nTransfer-Encoding: chunked\r\n\r\n", status: 304, reusable: true},
		"HEAD":                                   {method: "HEAD", raw: ok + "Content-Length: 2\r\n\r\n", status: 200, reusable: true},
		"an incomplete head":                     {raw: ok + "Content-Length: 2\r\n"},
		"nothing":                                {raw: ""},
	} {
		method := c.method
		if method == "" {
			method = "GET"
		}
		a, body, reusable, err := answerOf(t, method, []byte(c.raw))
		switch {
		case c.status == 0:
			if a != nil || err == nil || errors.Is(err, io.EOF) {
				t.Errorf("%s: %v, %v; want none", name, a, err)
			}
		case err != nil || a.Status != c.status || string(body) != c.body || reusable != c.reusable:
			t.Errorf("%s: %v, %q, reusable %t, %v", name, a, body, reusable, err)
		}
	}
}

func TestIncompleteBodies(t *testing.T) {
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, raw := range map[string]string{
		"body shorter than Content-Length": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
		"a chunk":                          chunked + "3\r\nhi",
		"no last chunk":                    chunked + "2\r\nhi\r\n",
		"last chunk without end":           chunked + "2\r\nhi\r\n0\r\n",
		"half a trailer":                   chunked + "2\r\nhi\r\n0\r\nA: b\r\n",
		"a malformed trailer":              chunked + "2\r\nhi\r\n0\r\nA b\r\n\r\n",
		"a trailer with LF":                chunked + "2\r\nhi\r\n0\r\nA: b\n\n",
		"a long trailer":                   chunked + "2\r\nhi\r\n0\r\n" + strings.Repeat("A: bcdefgh\r\n", 1000) + "\r\n",
	} {
		a, body, reusable, err := answerOf(t, "GET", []byte(raw))
		if a == nil || string(body) != "hi" || reusable || err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v, %q, reusable %t, %v", name, a, body, reusable, err)
		}
	}
}

// Only the fields in Keep are kept, and no field of an interim response is.
func TestKeptFields(t *testing.T) {
	a, _, _, err := answerOf(t, "GET", []byte("HTTP/1.1 200 OK\r\ncontent-type:\t text/plain \r\nServer: x\r\nRETRY-AFTER:\r\nRetry-After: 2\r\n"+
		"Content-Length: 0\r\n\r\n"))
	if err != nil || len(a.Header) != 3 || a.Header.Get("Content-Type") != "text/plain" || a.Header.List("Retry-After") != ",2" {
		t.Fatalf("got %v, %v", a, err)
	}
	if _, ok := a.Header.Lookup("Server"); ok {
		t.Error("the response has a field that is not in Keep")
	}
	a, _, _, err = answerOf(t, "GET", []byte("HTTP/1.1 100 C\r\nRetry-After: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	if err != nil || len(a.Header) != 0 {
		t.Errorf("got %v, %v; want no error and Header none", a, err)
	}
}
