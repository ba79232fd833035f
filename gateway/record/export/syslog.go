package export

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// Syslog sends records as messages of the syslog protocol (RFC 5424), each preceded by its length, over TLS (RFC 5425) or TCP (RFC 6587
// section 3.4.1). Syslog has no acknowledgements: a record counts as delivered once it is written to the connection. A Syslog is not safe
// for concurrent use.
type Syslog struct {
	address string
	secure  *tls.Config // nil: TCP
	host    string
	conn    net.Conn // nil: not connected
}

// NewSyslog returns a Sender that connects to an address with a port. If secure is nil, it does not use TLS.
func NewSyslog(address string, secure *tls.Config) *Syslog {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "-"
	}
	return &Syslog{address: address, secure: secure, host: host}
}

// priority is informational (6) of the facility log audit (13).
const priority = 13*8 + 6

// Send implements Sender.
func (s *Syslog) Send(ctx context.Context, records []Record) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	var out bytes.Buffer
	for _, r := range records {
		at := r.At.UTC().Format("2006-01-02T15:04:05.000000Z07:00")
		head := fmt.Sprintf("<%d>1 %s %s uimgate %d audit - ", priority, at, s.host, os.Getpid())
		fmt.Fprintf(&out, "%d %s%s", len(head)+len(r.JSON), head, r.JSON)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	_ = s.conn.SetWriteDeadline(time.Now().Add(sendTimeout)) //nolint:forbidigo // deadlines of connections use the machine's clock
	if _, err := s.conn.Write(out.Bytes()); err != nil {
		s.Close()
		return err
	}
	return nil
}

// connect makes a connection unless there is one that the collector has not closed.
func (s *Syslog) connect(ctx context.Context) error {
	if s.conn != nil && open(s.conn) {
		return nil
	}
	s.Close()
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	var err error
	if s.secure != nil {
		s.conn, err = (&tls.Dialer{Config: s.secure}).DialContext(ctx, "tcp", s.address)
	} else {
		s.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	}
	if err != nil {
		s.conn = nil
	}
	return err
}

// open reports whether the collector has neither closed the connection nor sent anything, which syslog servers do not do. It waits up to a
// millisecond.
func open(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond)) //nolint:forbidigo // deadlines of connections use the machine's clock
	_, err := io.ReadFull(c, make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// Close implements Sender.
func (s *Syslog) Close() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}
