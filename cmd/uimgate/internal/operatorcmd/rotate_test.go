package operatorcmd

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/pat/keys"
)

func TestRotatedKeysHaveOneLineForEachSigner(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	key := func(id, process string, purpose keys.Purpose, minute int, ended bool) agreements.Key {
		k := agreements.Key{
			ID: keys.ID(id), Process: process, Purpose: purpose, Algorithm: "EdDSA", CreatedAt: start.Add(time.Duration(minute) * time.Minute),
		}
		if strings.HasSuffix(id, "-p256") {
			k.Algorithm = "ES256"
		}
		if ended {
			k.NotAfter = start.Add(time.Hour)
		}
		return k
	}
	before := []agreements.Key{
		key("a1", "a", "", 1, false), key("a2", "a", keys.ForCards, 1, false),
		key("a2-p256", "a", keys.ForCards, 1, false), key("b1", "b", "", 1, false), key("gone", "gone", "", 0, true),
	}
	half := []agreements.Key{
		key("a1", "a", "", 1, true), key("a2", "a", keys.ForCards, 1, true), key("b1", "b", "", 1, true), key("gone", "gone", "", 0, true),
		key("a2-p256", "a", keys.ForCards, 1, true),
		key("a3", "a", "", 2, false), key("a4", "a", keys.ForCards, 2, false), key("a4-p256", "a", keys.ForCards, 2, false),
	}
	for name, tt := range map[string]struct {
		after        []agreements.Key
		want, absent string
		complete     bool
	}{
		"a process does not run": {half, "a3 a4-p256 a4 b1", "Process b has not created a new key yet: it will create one when it starts.\n", false},
		"all processes run":      {append(half, key("b2", "b", "", 3, false)), "a3 a4-p256 a4 b2", "", true},
	} {
		list, complete := rotated(before, tt.after)
		var ids []string
		for _, k := range list {
			ids = append(ids, string(k.ID))
		}
		var out strings.Builder
		printAbsent(&out, list)
		if got := strings.Join(ids, " "); got != tt.want || complete != tt.complete || out.String() != tt.absent {
			t.Errorf("%s: %s, complete %t, %q; want %s, %t, %q", name, got, complete, out.String(), tt.want, tt.complete, tt.absent)
		}
	}
}
