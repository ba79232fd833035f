package main

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/miekg/dns"
	"github.com/rogpeppe/go-internal/testscript"
)

// startDNS (dns ZONEFILE) serves a zone file over UDP and TCP until the script ends, and sets DNS. It reads the file for each query. Names
// that are not in the file do not exist, and the server fails for names under broken.example.
func startDNS(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dns ZONEFILE")
	}
	path := ts.MkAbs(args[0])
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		m.RecursionAvailable = true
		records, err := readZone(path)
		switch name := dns.CanonicalName(q.Question[0].Name); {
		case err != nil, dns.IsSubDomain("broken.example.", name):
			m.Rcode = dns.RcodeServerFailure
		default:
			for _, rr := range records {
				if dns.CanonicalName(rr.Header().Name) == name && rr.Header().Rrtype == q.Question[0].Qtype {
					m.Answer = append(m.Answer, rr)
				}
			}
			if len(m.Answer) == 0 {
				m.Rcode = dns.RcodeNameError
			}
		}
		if opt := q.IsEdns0(); opt != nil && w.LocalAddr().Network() == "udp" {
			m.Truncate(int(opt.UDPSize()))
		}
		_ = w.WriteMsg(m)
	})
	var ln net.Listener
	var pc net.PacketConn
	for pc == nil { // UDP and TCP need the same port
		var err error
		ln, err = net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		if pc, err = net.ListenPacket("udp", ln.Addr().String()); err != nil {
			_ = ln.Close()
		}
	}
	for _, server := range []*dns.Server{{PacketConn: pc}, {Listener: ln}} {
		server.Handler = handler
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		var wg sync.WaitGroup
		wg.Go(func() { _ = server.ActivateAndServe() })
		<-started
		ts.Defer(func() { _ = server.Shutdown(); wg.Wait() })
	}
	ts.Setenv("DNS", ln.Addr().String())
}

func readZone(path string) ([]dns.RR, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	parser := dns.NewZoneParser(io.Reader(strings.NewReader(string(data))), ".", path)
	var records []dns.RR
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		records = append(records, rr)
	}
	return records, parser.Err()
}
