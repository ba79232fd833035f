package ledgerlog_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	witnesstest "github.com/uimgate/uimgate/internal/test/witness"
	"github.com/uimgate/uimgate/store"
)

// On a full disk, the log keeps the state of its last checkpoint, and takes all lines when there is room again.
func TestFullDiskWhileAppending(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]string{"tiles": "INSERT ON log_tiles", "checkpoints": "UPDATE ON log_heads"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place := sqliteFile(t)
			p := start(t, openStore(t, place), "one")
			topUp(t, p.store, 3)
			p.round(t)
			before := look(t, p)
			sqlitetest.Alter(t, place, "CREATE TRIGGER full BEFORE "+when+" BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END")
			topUp(t, p.store, 300)
			for range 2 {
				if err := p.Round(t.Context()); err == nil {
					t.Error("a round succeeded on a full disk")
				}
			}
			if v := look(t, p, before); v.Checkpoint != before.Checkpoint {
				t.Errorf("got %+v, want the checkpoint before", v.Checkpoint)
			}
			sqlitetest.Alter(t, place, "DROP TRIGGER full")
			p.round(t)
			wantAll(t, p, look(t, p, before))
		})
	}
}

// A clock that is set back or forward changes the times of checkpoints, and nothing else: the log grows, the lease passes on, and witnesses
// are asked.
func TestClockIsSet(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, place string) {
		t.Helper()
		p := start(t, openStore(t, place), "one")
		p.shared = true
		offset := time.Duration(0)
		p.clock = func() time.Time { return time.Now().Add(offset) }
		cosigner := witnesstest.Start(t, "witness.example", func(string) string { return vkeyOf(t, p) })
		p.settings.Witnesses = []config.Witness{{Key: config.WitnessKey(cosigner.VerifierKey()), URL: cosigner.URL, Private: true}}
		p.restart()
		topUp(t, p.store, 3)
		p.round(t)
		seen := []view{look(t, p)}
		for _, offset = range []time.Duration{24 * time.Hour, -24 * time.Hour, time.Hour, 0} {
			topUp(t, p.store, 3)
			cosigner.Respond(func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusServiceUnavailable); return true })
			p.round(t)
			v := look(t, p, seen...)
			wantAll(t, p, v)
			if off := v.Checkpoint.Time.Sub(p.clock()).Abs(); off > time.Hour/2 {
				t.Errorf("with an offset of %v, the time of the checkpoint is off by %v", offset, off)
			}
			seen = append(seen, v)
			cosigner.Respond(nil)
		}
		_, before := cosigner.Head("")
		offset = -48 * time.Hour // the pause of the witness ends in two days
		p.round(t)
		if _, requests := cosigner.Head(""); requests == before {
			t.Error("the witness is not asked after the clock was set back")
		}
		if _, err := p.store.Logs().Head(t.Context(), service); errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
	})
}
