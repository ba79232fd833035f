//go:build soak && linux

package soak

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// memoryGiven is the memory that a gateway may use, and memoryLimit the limit for its runtime.
const (
	memoryGiven = 256 << 20
	memoryLimit = "230MiB"
)

// A gateway with 256 MiB of memory is attacked from several addresses, and by two agents that take all resources they can get, while other
// agents use it. It serves those agents, and stays within its memory.
func TestStrangersWithin256MiB(t *testing.T) {
	w := newWorld(t)
	w.attacked = true
	g := newGateway(t, "a", strings.NewReplacer(
		"per_address: 1000000/second", "per_address: 5000/second",
		"issue_per_address: 100000/minute", "issue_per_address: 3000/minute, trusted_proxies: [127.0.0.1/32]", // limits connections of others
	).Replace(w.config("")))
	g.memory = memoryLimit
	w.gateways = []*gateway{g}
	w.open = sqliteRecords(g)
	w.startAll()
	hog, flooder := w.agentNamed("hog", 2), w.agentNamed("flooder", 2)
	least := usualFloor()
	for what, n := range least {
		least[what] = max(1, n/(2*floorTimes)) // because there are so many other calls
	}
	delete(least, "RATE_LIMIT_EXCEEDED")
	peak := int64(0)
	w.run(least, func() {
		w.worker(w.over, "memory", 50*time.Millisecond, func(string) { peak = max(peak, memoryOf(g)) })
		w.flood(g, "127.0.0.2")
		for i := range 16 {
			from := w.from(fmt.Sprintf("127.0.0.%d", 3+i%4))
			w.worker(w.over, fmt.Sprintf("trees%d", i), 0, func(string) { w.send(from, g, "/api/pat/revoke", manyTokens) })
			w.worker(w.over, fmt.Sprintf("keys%d", i), 0, func(string) { w.send(from, g, "/api/pat/issue", strangeKey()) })
			w.worker(w.over, fmt.Sprintf("padded%d", i), 0, func(string) { w.send(from, g, "/api/pat/issue", paddedAgreement) })
			w.worker(w.over, fmt.Sprintf("flood%d", i), 0, func(ref string) {
				call{agent: flooder, token: flooder.token(), intent: details, ref: ref + "." + string(effectFlood)}.at(g)
			})
		}
		for i := range 300 {
			w.worker(w.over, fmt.Sprintf("hog%d", i), 0, func(ref string) {
				call{agent: hog, token: hog.token(), intent: sealed, ref: ref + "." + string(effectNoAnswer)}.provedAt(g)
			})
		}
	})
	w.recover()
	w.verdict(w.evidence(), least)
	t.Logf("the gateway used at most %d MiB", peak>>20)
	if peak == 0 || peak > memoryGiven {
		t.Errorf("the gateway used %d MiB; want at most %d", peak>>20, memoryGiven>>20)
	}
}

// provedAt makes one attempt with a new proof.
func (c call) provedAt(g *gateway) {
	if err := c.prove(); err != nil {
		c.agent.w.t.Error(err)
		return
	}
	c.at(g)
}

var (
	manyTokens      = []byte(`{"token":[` + strings.Repeat("{},", 1<<20/3) + `{}]}`)
	paddedAgreement = mustJSON(map[string]string{
		"agent_id": "stranger", "signed_policy": strings.Repeat("eyJh.", 12<<10), "agent_public_key": strings.Repeat("A", 1<<10),
	})
)

// strangeKey returns a request for an agreement with a key that is expensive to verify with.
func strangeKey() []byte {
	n := make([]byte, 512)
	_, _ = rand.Read(n)
	n[0], n[511] = n[0]|0x80, n[511]|1
	der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: 65537})
	if err != nil {
		panic(err)
	}
	signature := make([]byte, 512)
	_, _ = rand.Read(signature[1:])
	return mustJSON(map[string]string{
		"agent_id": "stranger", "signed_policy": base64.StdEncoding.EncodeToString(signature),
		"agent_public_key": base64.StdEncoding.EncodeToString(der),
	})
}

// from returns a client that uses one address of this machine.
func (w *world) from(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: time.Second}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// send sends a request that must be refused, or gets no response.
func (w *world) send(from *http.Client, g *gateway, path string, body []byte) {
	answer, err := from.Post(g.url()+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode == http.StatusOK && path != "/api/pat/revoke" {
		w.t.Errorf("a stranger got 200 from %s", path)
	}
}

// flood opens many connections from one address, sends a request on each that is answered with 404, and keeps them open for a while.
func (w *world) flood(g *gateway, address string) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: time.Second}
	for i := range 64 {
		w.worker(w.over, fmt.Sprintf("crowd%d", i), 0, func(string) {
			var open []net.Conn
			for range 64 {
				c, err := dialer.Dial("tcp", strings.TrimPrefix(g.url(), "http://"))
				if err != nil {
					break
				}
				_, _ = io.WriteString(c, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
				open = append(open, c)
			}
			pause(w.over, 500*time.Millisecond)
			for _, c := range open {
				_ = c.Close()
			}
		})
	}
}

// memoryOf returns the resident memory of a gateway's process that is not a copy of a file: the system cannot reclaim it, so memory limits
// count it. It returns 0 if the process has ended.
func memoryOf(g *gateway) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.process.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if text, is := strings.CutPrefix(line, "RssAnon:"); is {
			kilobytes, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}
