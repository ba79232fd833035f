package pool_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
)

func open(t *testing.T, address string, change func(*pool.Config)) *pool.Pool {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	cfg := pool.Config{
		URL: u, MaxConns: 4, MaxIdle: 4, IdleTimeout: time.Minute, DialTimeout: 5 * time.Second, MaxHeader: 64 << 10, Now: time.Now,
	}
	if change != nil {
		change(&cfg)
	}
	p, err := pool.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func allowed() error { return nil }

// ask sends one request and reads the whole response.
func ask(ctx context.Context, p *pool.Pool, r pool.Request) (status int, body string, err error) {
	c, err := p.Take(ctx)
	if err != nil {
		return 0, "", err
	}
	defer c.Release()
	if _, err := c.Send(r, allowed); err != nil {
		return 0, "", err
	}
	resp, err := c.Answer()
	if err != nil {
		return 0, "", err
	}
	raw, err := io.ReadAll(resp.Body)
	return resp.Status, string(raw), err
}

func get(header ...pool.Field) pool.Request {
	return pool.Request{Method: "GET", Target: []byte("/"), Header: header}
}

// listen accepts connections and passes each to serve, with its number from 1.
func listen(t *testing.T, serve func(n int, c net.Conn, in *bufio.Reader), secure *tls.Config) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + ln.Addr().String()
	if secure != nil {
		ln, address = tls.NewListener(ln, secure), "https"+strings.TrimPrefix(address, "http")
	}
	var running sync.WaitGroup
	t.Cleanup(func() { _ = ln.Close(); running.Wait() })
	running.Go(func() {
		for n := 1; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = c.Close() }()
				serve(n, c, bufio.NewReader(c))
			})
		}
	})
	return address
}

// tlsConfigs returns the TLS configurations of a server on loopback and of a client that trusts it.
func tlsConfigs(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	trust := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return &tls.Config{Certificates: s.TLS.Certificates}, &tls.Config{RootCAs: trust, ServerName: "example.com"}
}

// Bytes after a response are never read as the next response, whether they arrive in the same TLS record or in a separate one.
func TestExtraBytesAfterResponseEndConnection(t *testing.T) {
	server, client := tlsConfigs(t)
	for name, answers := range map[string]func(own string) []string{
		"in one write": func(own string) []string { return []string{own + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"} },
		"in two":       func(own string) []string { return []string{own, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"} },
		"long": func(own string) []string {
			return []string{own + "HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n" + strings.Repeat("n", 9000)}
		},
	} {
		for _, secure := range []*tls.Config{nil, server} {
			t.Run(fmt.Sprint(name, secure != nil), func(t *testing.T) {
				written := make(chan bool, 100)
				p := open(t, listen(t, func(_ int, c net.Conn, in *bufio.Reader) {
					for {
						r, err := http.ReadRequest(in)
						if err != nil {
							return
						}
						own := r.Header.Get("Who")
						for _, text := range answers(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(own), own)) {
							_, _ = io.WriteString(c, text)
						}
						written <- true
					}
				}, secure), func(c *pool.Config) {
					if secure != nil {
						c.TLS = client
					}
				})
				for n := range 20 {
					own := "call " + strconv.Itoa(n)
					_, body, err := ask(t.Context(), p, get(pool.Field{Name: "Who", Value: own}))
					if err != nil || body != own {
						t.Fatalf("%s: %q, %v", own, body, err)
					}
					<-written // all bytes were written
				}
			})
		}
	}
}

// Connections are reused, over TLS as well.
func TestConnectionsAreReused(t *testing.T) {
	server, client := tlsConfigs(t)
	for _, secure := range []*tls.Config{nil, server} {
		p := open(t, listen(t, func(n int, c net.Conn, in *bufio.Reader) {
			for {
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", n)
			}
		}, secure), func(c *pool.Config) {
			if secure != nil {
				c.TLS = client
			}
		})
		for range 5 {
			if _, body, err := ask(t.Context(), p, get()); err != nil || body != "1" {
				t.Errorf("TLS %t: connection %q, %v; want %q, nil", secure != nil, body, err, "1")
			}
		}
	}
}

// A service may respond before it has read a long body. The connection cannot be reused then.
func TestEarlyResponseToLongBody(t *testing.T) {
	read := make(chan struct{})
	p := open(t, listen(t, func(n int, c net.Conn, in *bufio.Reader) {
		if _, err := http.ReadRequest(in); err == nil {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 1\r\n\r\n%d", n)
			<-read // does not read the body
		}
	}, nil), nil)
	defer close(read)
	long := pool.Request{Method: "POST", Target: []byte("/"), Body: make([]byte, 64<<20), HasBody: true}
	for _, want := range []string{"1", "2"} {
		if status, body, err := ask(t.Context(), p, long); status != 413 || body != want || err != nil {
			t.Errorf("%d %q %v, want connection %s", status, body, err, want)
		}
	}
}

func TestNothingIsWrittenWithoutAdmission(t *testing.T) {
	got := make(chan error, 1)
	p := open(t, listen(t, func(_ int, _ net.Conn, in *bufio.Reader) {
		_, err := in.ReadByte()
		got <- err
	}, nil), nil)
	c, err := p.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("no")
	if written, err := c.Send(get(), func() error { return refused }); written || !errors.Is(err, refused) {
		t.Errorf("got %t, %v; want false, %v", written, err, refused)
	}
	c.Release()
	if err := <-got; !errors.Is(err, io.EOF) {
		t.Errorf("the service read %v, want %v", err, io.EOF)
	}
}

func TestFieldsWithLineBreaksAreNotSent(t *testing.T) {
	p := open(t, listen(t, func(_ int, _ net.Conn, in *bufio.Reader) { _, _ = in.ReadByte() }, nil), nil)
	for name, value := range map[string]string{"X": "canary\r\nY: b", "X: a\r\nY": "canary", "X:": "canary", "Z": "canary\nb"} {
		c, err := p.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		written, err := c.Send(get(pool.Field{Name: name, Value: value}), allowed)
		if written || err == nil || strings.Contains(err.Error(), value) {
			t.Errorf("%q: %q: %t, %v", name, value, written, err)
		}
		c.Release()
	}
}

// If a service sends bytes before the request, the pool does not send the request.
func TestServiceThatSendsFirst(t *testing.T) {
	handler, taken := make(chan struct{}), make(chan struct{})
	defer close(taken)
	p := open(t, listen(t, func(_ int, c net.Conn, _ *bufio.Reader) {
		_, _ = io.WriteString(c, "SSH-2.0\r\n")
		close(handler)
		<-taken
	}, nil), nil)
	c, err := p.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	<-handler
	if written, err := c.Send(get(), allowed); written || !errors.Is(err, pool.ErrNotNow) {
		t.Errorf("got %t, %v; want false, %v", written, err, pool.ErrNotNow)
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	closed := make(chan struct{}, 8)
	arrived, all := make(chan struct{}), make(chan struct{})
	p := open(t, listen(t, func(_ int, c net.Conn, in *bufio.Reader) {
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		arrived <- struct{}{}
		<-all // each call gets its own connection
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		_, _ = in.ReadByte()
		closed <- struct{}{}
	}, nil), func(c *pool.Config) { c.IdleTimeout, c.MaxIdle = 10*time.Millisecond, 2 })
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			if status, _, err := ask(t.Context(), p, get()); status != 204 || err != nil {
				t.Errorf("got %v, %v; want 204, nil", status, err)
			}
		})
		<-arrived
	}
	close(all)
	calls.Wait()
	for range 4 { // two exceed MaxIdle, and two exceed IdleTimeout
		<-closed
	}
}

func TestMaxConnsIsNotExceeded(t *testing.T) {
	arrived, answer := make(chan struct{}, 8), make(chan struct{})
	p := open(t, listen(t, func(_ int, c net.Conn, in *bufio.Reader) {
		for {
			if _, err := http.ReadRequest(in); err != nil {
				return
			}
			arrived <- struct{}{}
			<-answer
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	}, nil), func(c *pool.Config) { c.MaxConns = 1 })
	first := make(chan error, 1)
	go func() { _, _, err := ask(t.Context(), p, get()); first <- err }()
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() { _, _, err := ask(ctx, p, get()); second <- err }()
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("the second request did not wait: got %v, want %v", err, context.Canceled)
	}
	close(answer)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if _, _, err := ask(t.Context(), p, get()); err != nil {
		t.Error(err)
	}
}

// The end of its context stops a request at every stage.
func TestContextThatEnds(t *testing.T) {
	server, client := tlsConfigs(t)
	for name, begin := range map[string]string{
		"no response": "", "an incomplete head": "HTTP/1.1 200 OK\r\nX", "an incomplete body": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
	} {
		for _, secure := range []*tls.Config{nil, server} {
			ctx, cancel := context.WithCancel(t.Context())
			p := open(t, listen(t, func(_ int, c net.Conn, in *bufio.Reader) {
				if _, err := http.ReadRequest(in); err == nil {
					_, _ = io.WriteString(c, begin)
					cancel()
					_, _ = in.ReadByte() // until the client closes the connection
				}
			}, secure), func(c *pool.Config) {
				if secure != nil {
					c.TLS = client
				}
			})
			if _, _, err := ask(ctx, p, get()); err == nil {
				t.Errorf("%s, TLS %t: got a response", name, secure != nil)
			}
			cancel()
		}
	}
}

func TestHostHeader(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:%s": "127.0.0.1:%s", "http://localhost:%s": "localhost:%s", "http://LOCALHOST:%s": "LOCALHOST:%s",
	} {
		host := make(chan string, 1)
		port := listen(t, func(_ int, c net.Conn, in *bufio.Reader) {
			if r, err := http.ReadRequest(in); err == nil {
				host <- r.Host
				_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
			}
		}, nil)
		port = port[strings.LastIndex(port, ":")+1:]
		if _, _, err := ask(t.Context(), open(t, fmt.Sprintf(address, port), nil), get()); err != nil {
			t.Fatal(err)
		}
		if got := <-host; got != fmt.Sprintf(want, port) {
			t.Errorf("%s: %q", address, got)
		}
	}
	for address, good := range map[string]bool{"http://my_service": true, "https://bücher.example": true, "http://́a.example": false} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.New(pool.Config{URL: u, MaxConns: 1}); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
}
