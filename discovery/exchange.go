package discovery

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	// udpSize is the maximum size of UDP responses that a query announces. Packets of this size are not fragmented on common paths. RFC 6891
	// 6.2.5, DNS Flag Day 2020.
	udpSize = 1232
	// maxStray is the number of unrelated UDP packets after which the query is repeated over TCP.
	maxStray = 64
)

// errOverTCP means that the query must be repeated over TCP.
var errOverTCP = errors.New("the query must be repeated over TCP")

// query queries one server after another for the TXT records of a name until one answers, in at most two rounds. The error wraps ErrServer,
// or is the cause of ctx if the caller cancelled ctx.
func (r *Resolver) query(ctx context.Context, servers []string, name string) (*dns.Msg, error) {
	var last error
	for range rounds {
		for _, server := range servers {
			m, err := r.queryServer(ctx, server, name, true)
			if err == nil && lacksEDNS(m) { // RFC 6891 7
				m, err = r.queryServer(ctx, server, name, false)
			}
			if err == nil && (m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError) {
				return m, nil
			}
			if err == nil {
				err = fmt.Errorf("%w: %s returned %s", ErrServer, server, rcodeName(m.Rcode))
			}
			if ctx.Err() != nil {
				if errors.Is(ctx.Err(), context.Canceled) {
					return nil, context.Cause(ctx)
				}
				return nil, fmt.Errorf("%w (%s)", ErrTimeout, server)
			}
			last = err
		}
	}
	return nil, last
}

func lacksEDNS(m *dns.Msg) bool {
	return m.Rcode == dns.RcodeFormatError || m.Rcode == dns.RcodeNotImplemented || m.Rcode == dns.RcodeBadVers
}

// queryServer sends a query over UDP, and again over TCP if the UDP response is truncated or may be forged.
func (r *Resolver) queryServer(ctx context.Context, server, name string, edns bool) (*dns.Msg, error) {
	q, err := question(name, edns)
	if err != nil {
		return nil, err
	}
	m, err := r.exchange(ctx, "udp", server, q)
	if errors.Is(err, errOverTCP) {
		m, err = r.exchange(ctx, "tcp", server, q)
	}
	if err != nil {
		return nil, serverError(server, err)
	}
	return m, nil
}

// question returns a query with a random id, for the name in random letter case. To forge a response, an attacker has to guess both
// (draft-vixie-dnsext-dns0x20).
func question(name string, edns bool) (*dns.Msg, error) {
	chance := make([]byte, len(name))
	if _, err := rand.Read(chance); err != nil {
		return nil, fmt.Errorf("creating a DNS query: %w", err)
	}
	mixed := []byte(strings.ToLower(name))
	for i, c := range mixed {
		if c >= 'a' && c <= 'z' && chance[i]&1 == 1 {
			mixed[i] = c - 'a' + 'A'
		}
	}
	q := new(dns.Msg)
	q.SetQuestion(string(mixed), dns.TypeTXT)
	q.AuthenticatedData = true // RFC 6840 5.7
	if edns {
		q.SetEdns0(udpSize, true)
	}
	return q, nil
}

// exchange sends q and waits for the response. The error wraps errOverTCP if the query must be repeated over TCP.
func (r *Resolver) exchange(ctx context.Context, network, server string, q *dns.Msg) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // ends a read in progress
	defer stop()
	c := &dns.Conn{Conn: conn, UDPSize: udpSize}
	if err := c.WriteMsg(q); err != nil {
		return nil, err
	}
	if network == "tcp" {
		return readTCP(c, q)
	}
	return readUDP(c, q)
}

// readUDP reads the response to q. It ignores unrelated packets, because anyone can send them. After maxStray of them, or if the response
// is truncated or may be forged, it returns errOverTCP.
func readUDP(c *dns.Conn, q *dns.Msg) (*dns.Msg, error) {
	stray := error(nil)
	for range maxStray {
		packet, err := c.ReadMsgHeader(nil)
		switch {
		case errors.Is(err, dns.ErrShortRead):
			stray = errors.New("the response is too short")
			continue
		case err != nil && stray != nil:
			return nil, fmt.Errorf("%w: %w", ErrAnswer, stray)
		case err != nil:
			return nil, err
		}
		m := new(dns.Msg)
		err = m.Unpack(packet)
		switch {
		case m.Id != q.Id || !m.Response:
			stray = errors.New("the response belongs to another query")
		case m.Truncated, err != nil:
			return nil, errOverTCP
		case sameQuestion(m, q) && m.Question[0].Name == q.Question[0].Name:
			return m, nil
		case sameQuestion(m, q):
			return nil, errOverTCP // the server changed the case, or an attacker guessed the id
		case emptyRefusal(m):
			return m, nil
		default:
			stray = errors.New("the response belongs to another query")
		}
	}
	return nil, errOverTCP
}

// readTCP reads one message, which must be the response to q.
func readTCP(c *dns.Conn, q *dns.Msg) (*dns.Msg, error) {
	packet, err := c.ReadMsgHeader(nil)
	if err != nil {
		return nil, err
	}
	m := new(dns.Msg)
	switch err := m.Unpack(packet); {
	case err != nil:
		return nil, fmt.Errorf("%w: the response is not a DNS message", ErrAnswer)
	case m.Truncated:
		return nil, fmt.Errorf("%w: the response is truncated even over TCP", ErrAnswer)
	case m.Id != q.Id || !m.Response || !sameQuestion(m, q) && !emptyRefusal(m):
		return nil, fmt.Errorf("%w: the response belongs to another query", ErrAnswer)
	}
	return m, nil
}

// sameQuestion reports whether m repeats the question of q. It ignores the case of the name.
func sameQuestion(m, q *dns.Msg) bool {
	if len(m.Question) != 1 || m.Opcode != dns.OpcodeQuery {
		return false
	}
	a, b := m.Question[0], q.Question[0]
	return a.Qtype == b.Qtype && a.Qclass == b.Qclass && strings.EqualFold(a.Name, b.Name)
}

// emptyRefusal reports whether m is an error response without a question section, which some servers send.
func emptyRefusal(m *dns.Msg) bool {
	return len(m.Question) == 0 && len(m.Answer) == 0 && m.Rcode != dns.RcodeSuccess && m.Rcode != dns.RcodeNameError
}

// serverError adds the address of the server to the error of an exchange, and makes it wrap ErrServer.
func serverError(server string, err error) error {
	network, _ := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, ErrServer):
		return fmt.Errorf("%w (%s)", err, server)
	case errors.Is(err, errOverTCP):
		return fmt.Errorf("%w (%s)", ErrAnswer, server)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), network != nil && network.Timeout():
		return fmt.Errorf("%w (%s)", ErrTimeout, server)
	default:
		return fmt.Errorf("%w (%s): %w", ErrServer, server, err)
	}
}
