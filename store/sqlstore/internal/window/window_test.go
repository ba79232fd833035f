package window_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
)

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0x80, 0x01})
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, in []byte) {
		counts, err := window.Decode(in)
		if err != nil {
			if counts != nil {
				t.Fatal("an error with a value")
			}
			return
		}
		w := window.Window{Period: limit.Hour, Counts: counts}
		again, err := window.Decode(w.Encode())
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range counts {
			if n < 0 || i < len(again) && again[i] != n || i >= len(again) && n != 0 {
				t.Fatalf("%v → %v", counts, again)
			}
		}
	})
}
