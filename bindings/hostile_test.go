package bindings_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestHostilePeersAtEveryDoor sends invalid input to each door, and then a call. The gateway forwards none of the input to the service, and
// the call succeeds.
func TestHostilePeersAtEveryDoor(t *testing.T) {
	t.Parallel()
	const maxBody = 64 << 10
	g := gatetest.New(t, "server: {max_body: 64KiB, issue_per_address: 1000/second, per_address: 10000/second}\nservices:\n"+
		"- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+"}\n")
	var reached atomic.Int64
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		fmt.Fprint(w, `{"lamps":1}`)
	}
	a := g.Agreed("agent-1")
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	for name, w := range ways {
		padded := strings.Replace(w.body, `"lamp"`, `"`+strings.Repeat("l", maxBody)+`"`, 1)
		for what, hostile := range map[string]struct {
			body   io.Reader
			header []string
			token  string
			status int
		}{
			"too large":                   {strings.NewReader(padded), nil, a.Token, http.StatusRequestEntityTooLarge},
			"an endless body":             {io.MultiReader(strings.NewReader(padded), endless{}), nil, a.Token, http.StatusRequestEntityTooLarge},
			"deep":                        {strings.NewReader(strings.Repeat(`{"a":`, 10_000)), nil, a.Token, 0},
			"compressed":                  {strings.NewReader("\x1f\x8b\x08"), []string{"Content-Encoding", "gzip"}, a.Token, http.StatusUnsupportedMediaType},
			"an endless body without PAT": {endless{}, nil, "", http.StatusUnauthorized},
			"another kind of content":     {strings.NewReader(w.body), []string{"Content-Type", "text/plain"}, a.Token, http.StatusUnsupportedMediaType},
			"bytes":                       {bytes.NewReader([]byte{0xff, 0xfe, 0x00, '{', 0xc3, 0x28}), nil, a.Token, 0},
		} {
			if strings.HasPrefix(name, "MCP") && hostile.token == "" { // it may be a request for the public list of tools
				hostile.status = http.StatusRequestEntityTooLarge
			}
			status, body := w.sendBody(g, client, hostile.token, hostile.body, hostile.header...)
			if status < 400 && !strings.Contains(body, "error") && !strings.Contains(body, `"isError":true`) ||
				hostile.status != 0 && status != hostile.status && !strings.Contains(body, "CONTENT_TYPE_NOT_SUPPORTED") {
				t.Errorf("%s, %s: %d %.300s; want %d", name, what, status, body, hostile.status)
			}
		}
		w.breakOff(g, a.Token)
		if n := reached.Load(); n != 0 {
			t.Errorf("%s: %d requests reached the service; want 0", name, n)
		}
		if answer := w.send(g, client, a.Token, 1); !bytes.Contains(answer, []byte(w.done)) {
			t.Errorf("%s, afterwards: %.300s", name, answer)
		}
		reached.Store(0)
	}
}

// TestFloodAtOneDoorSparesOthers keeps incomplete requests of one agent open at each door, while another agent calls through all doors.
func TestFloodAtOneDoorSparesOthers(t *testing.T) {
	t.Parallel()
	const held = 100
	g := gatetest.New(t, "")
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"lamps":1}`) }
	a, flooding := g.Agreed("agent-1"), g.Agreed("agent-2")
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	for name, flooded := range ways {
		var open sync.WaitGroup
		connections := make(chan net.Conn, held)
		for range held {
			open.Go(func() { connections <- flooded.half(g, flooding.Token) })
		}
		open.Wait()
		close(connections)
		for other, w := range ways {
			if answer := w.send(g, client, a.Token, 1); !bytes.Contains(answer, []byte(w.done)) {
				t.Errorf("%s, while %s is flooded: %.300s", other, name, answer)
			}
		}
		for c := range connections {
			_ = c.Close()
		}
	}
}

// endless is an infinite body.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// sendBody sends a body in place of a call.
func (w way) sendBody(g *gatetest.Gate, client *http.Client, token string, body io.Reader, header ...string) (int, string) {
	r := w.request(g, token, body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := client.Do(r)
	if err != nil {
		g.Error(err)
		return 0, ""
	}
	defer func() { _ = answer.Body.Close() }()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		g.Error(err)
	}
	return answer.StatusCode, string(read)
}

// half sends half of a call, and keeps the connection open.
func (w way) half(g *gatetest.Gate, token string) net.Conn {
	c, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	if err != nil {
		g.Error(err)
		return nil
	}
	body := w.numbered(token, 1)
	r := w.request(g, token, strings.NewReader(body))
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", w.path, r.URL.Host, len(body))
	for name, values := range r.Header {
		head += name + ": " + values[0] + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"+body[:len(body)/2]); err != nil {
		g.Error(err)
	}
	return c
}

// breakOff sends half of a call and closes the connection.
func (w way) breakOff(g *gatetest.Gate, token string) {
	if c := w.half(g, token); c != nil {
		_ = c.Close()
	}
}
