package connlimit_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/connlimit"
)

// A line is a listener that accepts a connection from each address sent on the channel.
type line chan string

func (l line) Accept() (net.Conn, error) {
	address, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	return remote{near, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(address), 1))}, nil
}

func (l line) Close() error   { close(l); return nil }
func (l line) Addr() net.Addr { return nil }

type remote struct {
	net.Conn
	address net.Addr
}

func (r remote) RemoteAddr() net.Addr { return r.address }

// dial makes connections from these addresses and returns the accepted ones.
func dial(t *testing.T, l *connlimit.Listener, from line, addresses ...string) []*connlimit.Conn {
	t.Helper()
	done := make(chan []*connlimit.Conn)
	go func() {
		var got []*connlimit.Conn
		for {
			c, err := l.Accept()
			if err != nil || c.RemoteAddr().String() == "[::1]:1" {
				done <- got
				return
			}
			conn, ok := c.(*connlimit.Conn)
			if !ok {
				t.Errorf("accepted %T", c)
			}
			got = append(got, conn)
		}
	}()
	for _, address := range append(addresses, "::1") {
		from <- address
	}
	return <-done
}

func times(n int, format string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = format
		if format[0] == '2' {
			out[i] = fmt.Sprintf(format, i)
		}
	}
	return out
}

func TestLimitsPerNetwork(t *testing.T) {
	for name, test := range map[string]struct {
		addresses []string
		want      int
	}{
		"an IPv4 address":         {times(20, "192.0.2.1"), 4},
		"the same as mapped":      {append(times(3, "192.0.2.1"), times(9, "::ffff:192.0.2.1")...), 4},
		"two of them":             {append(times(20, "192.0.2.1"), times(20, "192.0.2.2")...), 8},
		"a /64":                   {times(20, "2001:db8::%x"), 4},
		"a /56 by its /64":        {times(20, "2001:db8:0:%x::1"), 8},
		"a /48 by its /56":        {times(40, "2001:db8:0:%x00::1"), 16},
		"/48 each":                {times(20, "2001:db8:%x::1"), 20},
		"a proxy speaks for many": {times(20, "10.0.0.1"), 20},
	} {
		t.Run(name, func(t *testing.T) {
			from := make(line)
			causes := map[connlimit.Cause]int{}
			l := connlimit.New(from, connlimit.Bounds{
				All: 1000, PerAddress: 4, Shed: func(c connlimit.Cause) { causes[c]++ }, Answer: []byte("busy"),
				Exempt: func(a netip.Addr) bool { return a.Is4() && a.As4()[0] == 10 || a.IsLoopback() },
			})
			got := dial(t, l, from, test.addresses...)
			if len(got) != test.want || causes[connlimit.Address] != len(test.addresses)-test.want {
				t.Errorf("%d of %d accepted, want %d; shed %v", len(got), len(test.addresses), test.want, causes)
			}
			for _, c := range got {
				_ = c.Close()
				_ = c.Close() // closing it again changes nothing
			}
			if again := dial(t, l, from, test.addresses...); len(again) != test.want {
				t.Errorf("%d accepted after all were closed, want %d", len(again), test.want)
			}
			l.SetPerAddress(0)
			if again := dial(t, l, from, "198.51.100.1"); len(again) != 0 {
				t.Error("accepted beyond the new bound")
			}
		})
	}
}

// If the limit is reached, connections without a successful request are evicted, oldest first.
func TestUnkeptConnectionsAreEvicted(t *testing.T) {
	from := make(line)
	causes := map[connlimit.Cause]int{}
	l := connlimit.New(from, connlimit.Bounds{
		All: 4, PerAddress: 100, Shed: func(c connlimit.Cause) { causes[c]++ }, Exempt: netip.Addr.IsLoopback,
	})
	first := dial(t, l, from, "192.0.2.1", "192.0.2.1", "192.0.2.1") // the last one ends the round
	first[0].Keep()
	first[0].Keep()
	second := dial(t, l, from, "192.0.2.2")
	closed := func(c *connlimit.Conn) bool { _, err := c.Write([]byte("x")); return err != nil }
	got := []bool{closed(first[0]), closed(first[1]), closed(first[2]), closed(second[0])}
	if !cmp.Equal(got, []bool{false, true, true, false}) {
		t.Errorf("closed: %v, want the two oldest that were not kept", got)
	}
	second[0].Keep()
	if got := dial(t, l, from, "192.0.2.3", "192.0.2.3"); len(got) != 2 {
		t.Errorf("%d accepted, want all, because each evicts the one before", len(got))
	}
	if causes[connlimit.All] < 2 || causes[connlimit.Address] != 0 {
		t.Errorf("shed %v; want [connlimit.All] at least 2 and [connlimit.Address] 0", causes)
	}
}
