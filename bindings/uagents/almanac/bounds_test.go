package almanac

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The number of agents is limited for each client and for the networks around it. Otherwise one customer could fill the registry.
func TestAgentsPerNetwork(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		source func(n int) string // the client that registers agent n
		most   int
		beside string // another source, which is not affected
	}{
		"an IPv4 address": {func(int) string { return "192.0.2.1" }, 100, "192.0.2.10"},
		"a /64":           {func(int) string { return "2001:db8:1:2::/64" }, 100, "2001:db8:1:20::/64"},
		"a /56":           {func(n int) string { return fmt.Sprintf("2001:db8:1:2%02x::/64", n%256) }, 200, "2001:db8:1:300::/64"},
		"a /56 of zeros":  {func(n int) string { return fmt.Sprintf("2001:db8:0:%x::/64", n%256) }, 200, "2001:db8:0:100::/64"},
		"a /48":           {func(n int) string { return fmt.Sprintf("2001:db8:1:%x::/64", n<<8&0xffff) }, 400, "2001:db8:10::/64"},
		"a short /48":     {func(n int) string { return fmt.Sprintf("2001:db8:0:%x::/64", n<<8&0xffff) }, 400, "2001:db8:0:1:2::"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			s, err := sqlstore.Open(t.Context(), t.TempDir()+"/state.db", sqlstore.Options{Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			r := NewRegistry(s, func() time.Time { return now })
			register := func(n int, source string, at time.Time) error {
				of := identity.Identifier{Address: identity.Address(fmt.Sprintf("agent1%d", n))}
				return r.register(t.Context(), "default", source, Attestation{Authorship: Authorship{Identifier: of, At: at}})
			}
			for n := range row.most {
				if err := register(n, row.source(n), now); err != nil {
					t.Fatal(n, err)
				}
			}
			if err := register(row.most, row.source(row.most), now); !errors.Is(err, ErrTooMany) {
				t.Errorf("one more: %v, want %v", err, ErrTooMany)
			}
			if err := register(row.most, row.beside, now); err != nil {
				t.Errorf("another network: %v", err)
			}
			if err := register(0, row.source(0), now.Add(time.Second)); err != nil {
				t.Errorf("a registered agent: %v", err)
			}
		})
	}
}
