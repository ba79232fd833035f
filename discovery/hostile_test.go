package discovery_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/uimgate/uimgate/discovery"
)

const good = `shop.example. 60 IN TXT "uim-agents-file=https://shop.example/agents.json"`

func lookup(t *testing.T, timeout time.Duration, servers ...string) (discovery.Listing, error) {
	t.Helper()
	return discovery.New(discovery.Options{Servers: servers, Timeout: timeout}).Lookup(t.Context(), "shop.example")
}

// short is a timeout for servers that never respond; patient is one for servers that do.
const short, patient = 50 * time.Millisecond, 20 * time.Second

func TestTruncatedAnswerRetriedOverTCP(t *testing.T) {
	t.Parallel()
	s := newServer(t, good)
	for i := range 100 {
		s.add(t, fmt.Sprintf(`shop.example. 60 IN TXT "%03d%s"`, i, strings.Repeat("x", 240)))
	}
	if found, err := lookup(t, patient, s.addr); err != nil || found.AgentsFile != agentsURL {
		t.Fatalf("got %+v, %v; want no error and AgentsFile %v", found, err, agentsURL)
	}
	if udp, tcp := s.counts(); udp != 2 || tcp != 1 {
		t.Errorf("%d over UDP, %d over TCP", udp, tcp)
	}
}

func TestLargestTXTResponse(t *testing.T) {
	t.Parallel()
	s := newServer(t, good)
	for i := range 220 {
		s.add(t, fmt.Sprintf(`shop.example. 60 IN TXT "%03d%s"`, i, strings.Repeat("x", 240)))
	}
	if found, err := lookup(t, patient, s.addr); err != nil || len(found.Records) != 1 {
		t.Errorf("got %+v, %v; want no error and Records of length 1", found, err)
	}
}

func TestTruncatedAnswerOverTCPFails(t *testing.T) {
	t.Parallel()
	s := newServer(t, good)
	s.mangleBy(func(m *dns.Msg, _ bool) { m.Truncated = true })
	if _, err := lookup(t, patient, s.addr); !errors.Is(err, discovery.ErrAnswer) {
		t.Errorf("got %v, want %v", err, discovery.ErrAnswer)
	}
}

func TestSlowServerIsQueriedTwice(t *testing.T) {
	t.Parallel()
	s := newServer(t, good)
	s.handle(func(dns.ResponseWriter, *dns.Msg, bool) bool { return true }) // no response
	if _, err := lookup(t, short, s.addr); !errors.Is(err, discovery.ErrTimeout) || !errors.Is(err, discovery.ErrServer) {
		t.Errorf("got %v; want %v and %v", err, discovery.ErrTimeout, discovery.ErrServer)
	}
	if udp, tcp := s.counts(); udp > 4 || tcp != 0 { // two queries for each of two names
		t.Errorf("%d queries over UDP, %d over TCP", udp, tcp)
	}
}

func TestLostPacketIsRetried(t *testing.T) {
	t.Parallel()
	s := newServer(t, good)
	lost := map[string]bool{}
	s.handle(func(_ dns.ResponseWriter, q *dns.Msg, _ bool) bool {
		name := dns.CanonicalName(q.Question[0].Name)
		first := !lost[name]
		lost[name] = true
		return first
	})
	if _, err := lookup(t, time.Second, s.addr); err != nil {
		t.Error(err)
	}
}

func TestFailoverToNextServer(t *testing.T) {
	works := newServer(t, good)
	for _, code := range []int{dns.RcodeServerFailure, dns.RcodeRefused, dns.RcodeNotAuth, 12} {
		broken := newServer(t)
		broken.mangleBy(func(m *dns.Msg, _ bool) { m.Rcode = code })
		if _, err := lookup(t, patient, broken.addr, works.addr); err != nil {
			t.Error(code, err)
		}
		_, err := lookup(t, patient, broken.addr)
		if !errors.Is(err, discovery.ErrServer) || errors.Is(err, discovery.ErrNotFound) {
			t.Error(code, err)
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	absent := ln.Addr().String() // no server listens there for UDP
	_ = ln.Close()
	if _, err := lookup(t, patient, absent, works.addr); err != nil {
		t.Error(err)
	}
	if _, err := lookup(t, patient, absent); !errors.Is(err, discovery.ErrServer) {
		t.Errorf("got %v, want %v", err, discovery.ErrServer)
	}
}

func TestServerWithoutEDNS(t *testing.T) {
	t.Parallel()
	for _, code := range []int{dns.RcodeFormatError, dns.RcodeNotImplemented} {
		s := newServer(t, good)
		s.handle(func(w dns.ResponseWriter, q *dns.Msg, _ bool) bool {
			if q.IsEdns0() == nil {
				return false
			}
			m := new(dns.Msg).SetRcode(q, code)
			m.Question = nil // as some servers do
			_ = w.WriteMsg(m)
			return true
		})
		if _, err := lookup(t, patient, s.addr); err != nil {
			t.Error(code, err)
		}
	}
}

func TestReferralIsAnError(t *testing.T) {
	t.Parallel()
	s := newServer(t, "shop.example.", "_uim.shop.example.")
	s.mangleBy(func(m *dns.Msg, _ bool) { m.RecursionAvailable = false })
	if _, err := lookup(t, patient, s.addr); !errors.Is(err, discovery.ErrServer) || errors.Is(err, discovery.ErrNotFound) {
		t.Error(err)
	}
	s.mangleBy(func(m *dns.Msg, _ bool) { m.RecursionAvailable, m.Authoritative = false, true })
	if _, err := lookup(t, patient, s.addr); !errors.Is(err, discovery.ErrNoRecords) {
		t.Errorf("got %v, want %v", err, discovery.ErrNoRecords)
	}
}

// evil returns a response to q that leads to another agents.json.
func evil(q *dns.Msg) *dns.Msg {
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = true
	m.Answer = []dns.RR{&dns.TXT{
		Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 60},
		Txt: []string{"uim-agents-file=https://evil.example/agents.json"},
	}}
	return m
}

func TestForgedPacketsAreIgnored(t *testing.T) {
	t.Parallel()
	forge := map[string]func(q, m *dns.Msg) []byte{
		"wrong id":               func(_, m *dns.Msg) []byte { m.Id++; return packed(t, m) },
		"a question":             func(_, m *dns.Msg) []byte { m.Response = false; return packed(t, m) },
		"another name":           func(_, m *dns.Msg) []byte { m.Question[0].Name = "other.example."; return packed(t, m) },
		"another type":           func(_, m *dns.Msg) []byte { m.Question[0].Qtype = dns.TypeA; return packed(t, m) },
		"another class":          func(_, m *dns.Msg) []byte { m.Question[0].Qclass = dns.ClassCHAOS; return packed(t, m) },
		"no question":            func(_, m *dns.Msg) []byte { m.Question = nil; return packed(t, m) },
		"two questions":          func(_, m *dns.Msg) []byte { m.Question = append(m.Question, m.Question[0]); return packed(t, m) },
		"another opcode":         func(_, m *dns.Msg) []byte { m.Opcode = dns.OpcodeUpdate; return packed(t, m) },
		"shorter than a message": func(_, _ *dns.Msg) []byte { return []byte("hello") },
		"nothing":                func(_, _ *dns.Msg) []byte { return nil },
		"garbage":                func(_, _ *dns.Msg) []byte { return []byte(strings.Repeat("\xff", 400)) },
	}
	for name, f := range forge {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := rawUDP(t, func(q *dns.Msg) [][]byte {
				genuine := new(dns.Msg).SetReply(q)
				genuine.RecursionAvailable = true
				if strings.HasPrefix(strings.ToLower(q.Question[0].Name), "shop") {
					answer := evil(q)
					answer.Answer[0].(*dns.TXT).Txt = []string{"uim-agents-file=" + agentsURL}
					genuine = answer
				}
				return [][]byte{f(q, evil(q)), packed(t, genuine)}
			})
			if found, err := lookup(t, patient, addr); err != nil || found.AgentsFile != agentsURL {
				t.Errorf("got %+v, %v; want no error and AgentsFile %v", found, err, agentsURL)
			}
			// Without a valid packet there is no response.
			addr = rawUDP(t, func(q *dns.Msg) [][]byte { return [][]byte{f(q, evil(q))} })
			if found, err := lookup(t, short, addr); !errors.Is(err, discovery.ErrServer) {
				t.Errorf("%v: got %v, want %v", found, err, discovery.ErrServer)
			}
		})
	}
}

func TestWrongCaseRetriedOverTCP(t *testing.T) {
	t.Parallel()
	s := newServer(t, good)
	var over atomic.Int32
	s.mangleBy(func(m *dns.Msg, tcp bool) {
		if tcp {
			over.Add(1)
			return
		}
		guess := strings.ToLower(m.Question[0].Name) // the forger does not know the case
		if guess == m.Question[0].Name {
			guess = strings.ToUpper(guess)
		}
		m.Question[0].Name = guess
		for i := range m.Answer {
			m.Answer[i] = dns.Copy(m.Answer[i]) // do not change the zone
			m.Answer[i].(*dns.TXT).Txt = []string{"uim-agents-file=https://evil.example/agents.json"}
		}
	})
	found, err := lookup(t, patient, s.addr)
	if err != nil || found.AgentsFile != agentsURL || over.Load() == 0 {
		t.Error(found, err, over.Load())
	}
}

func TestStrayPacketsAreBounded(t *testing.T) {
	t.Parallel()
	addr := rawUDP(t, func(q *dns.Msg) [][]byte {
		m := evil(q)
		m.Id++
		out := make([][]byte, 100)
		for i := range out {
			out[i] = packed(t, m)
		}
		return out
	})
	if found, err := lookup(t, time.Second, addr); !errors.Is(err, discovery.ErrServer) {
		t.Errorf("%v: got %v, want %v", found, err, discovery.ErrServer)
	}
}

func TestInvalidOverTCP(t *testing.T) {
	t.Parallel()
	for name, talk := range map[string]func(conn net.Conn, q *dns.Msg){
		"wrong id": func(conn net.Conn, q *dns.Msg) { m := evil(q); m.Id++; _, _ = conn.Write(framed(packed(t, m))) },
		"another question": func(conn net.Conn, q *dns.Msg) {
			m := evil(q)
			m.Question[0].Name = "x."
			_, _ = conn.Write(framed(packed(t, m)))
		},
		"garbage":        func(conn net.Conn, _ *dns.Msg) { _, _ = conn.Write(framed([]byte(strings.Repeat("\xff", 100)))) },
		"too short":      func(conn net.Conn, _ *dns.Msg) { _, _ = conn.Write(framed([]byte("x"))) },
		"nothing":        func(net.Conn, *dns.Msg) {},
		"half a message": func(conn net.Conn, q *dns.Msg) { _, _ = conn.Write(framed(packed(t, evil(q)))[:30]) },
		"never":          func(conn net.Conn, _ *dns.Msg) { _, _ = conn.Read(make([]byte, 1)) },
		"endless, byte by byte": func(conn net.Conn, _ *dns.Msg) {
			_, err := conn.Write([]byte{0xff, 0xff})
			for n := 0; err == nil && n < 65000; n++ {
				_, err = conn.Write([]byte{0})
			}
			_, _ = conn.Read(make([]byte, 1))
		},
		"endless messages": func(conn net.Conn, q *dns.Msg) {
			m := evil(q)
			m.Id++
			frame := framed(packed(t, m))
			for {
				if _, err := conn.Write(frame); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found, err := lookup(t, 200*time.Millisecond, rawTCP(t, talk)); !errors.Is(err, discovery.ErrServer) {
				t.Errorf("%v: got %v, want %v", found, err, discovery.ErrServer)
			}
		})
	}
}

func TestRecordsOfOtherNamesAreIgnored(t *testing.T) {
	t.Parallel()
	s := newServer(t, "shop.example.", "_uim.shop.example.")
	s.mangleBy(func(m *dns.Msg, _ bool) {
		for _, name := range []string{"evil.example.", "example.", "x.shop.example."} {
			rr := evil(m).Answer[0]
			rr.Header().Name = name
			m.Answer = append(m.Answer, rr)
			m.Extra = append(m.Extra, rr)
			m.Ns = append(m.Ns, rr)
		}
		rr := evil(m).Answer[0]
		rr.Header().Class = dns.ClassCHAOS
		m.Answer = append(m.Answer, rr)
	})
	if found, err := lookup(t, patient, s.addr); !errors.Is(err, discovery.ErrNoRecords) {
		t.Errorf("%v: got %v, want %v", found, err, discovery.ErrNoRecords)
	}
}

func TestCNAMEChainAcrossMessagesIsBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	n := 0
	s.handle(func(w dns.ResponseWriter, q *dns.Msg, _ bool) bool {
		n++
		m := new(dns.Msg).SetReply(q)
		m.RecursionAvailable = true
		m.Answer = []dns.RR{&dns.CNAME{
			Hdr:    dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeCNAME, Class: dns.ClassINET, Ttl: 60},
			Target: fmt.Sprintf("c%d.example.", n),
		}}
		_ = w.WriteMsg(m)
		return true
	})
	if _, err := lookup(t, patient, s.addr); !errors.Is(err, discovery.ErrChain) {
		t.Errorf("got %v, want %v", err, discovery.ErrChain)
	}
	if udp, tcp := s.counts(); udp > 2*9+1 || tcp != 0 {
		t.Errorf("%d queries over UDP, %d over TCP", udp, tcp)
	}
}
