package log_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	witnesstest "github.com/uimgate/uimgate/internal/test/witness"
)

// witnessed returns a foreign witness that knows the log of signed, and a client of it.
func witnessed(tb testing.TB) (*witnesstest.Witness, *log.Witness) {
	tb.Helper()
	_, vkey := newKey(origin)
	foreign := witnesstest.Start(tb, "witness.example/1", func(string) string { return vkey })
	return foreign, client(tb, foreign, foreign.URL.String())
}

func client(tb testing.TB, foreign *witnesstest.Witness, address string) *log.Witness {
	tb.Helper()
	prefix, err := url.Parse(address + "/")
	if err != nil {
		tb.Fatal(err)
	}
	w, err := log.NewWitness(foreign.VerifierKey(), prefix, true)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(w.Close)
	return w
}

func TestForeignWitnessCosigns(t *testing.T) {
	t.Parallel()
	foreign, w := witnessed(t)
	m := memory{}
	tree := open(t, m, 0)
	cosigner, err := log.ParseCosigner(foreign.VerifierKey())
	if err != nil {
		t.Fatal(err)
	}
	cosign := func(w *log.Witness, size int64) error {
		grow(tree, m, size)
		root, err := tree.Root()
		if err != nil {
			t.Fatal(err)
		}
		c := log.Checkpoint{Origin: origin, Size: size, Root: root, Time: time.Unix(1_800_000_000, 0).UTC()}
		text, own := signed(t, c)
		added, at, err := w.Cosign(t.Context(), text, func(before int64) ([]evidence.Hash, error) {
			return log.Reader(m.tile).Consistency(before, size)
		})
		if err != nil {
			return err
		}
		opened, err := log.OpenCheckpoint(append(text, added...), own, cosigner)
		if w.HasCosigned(text) || !w.HasCosigned(append(text, added...)) {
			t.Errorf("size %d: a cosignature is not found, or found where there is none", size)
		}
		if err != nil || len(opened.Signers) != 2 || !at.Equal(time.Unix(1_800_000_100, 0)) {
			t.Errorf("size %d: got %+v at %v, %v", size, opened, at, err)
		}
		return nil
	}
	for _, size := range []int64{0, 1, 1, 2, 300, 1000, 70_000} {
		if err := cosign(w, size); err != nil {
			t.Errorf("size %d: %v", size, err)
		}
	}
	second := client(t, foreign, "http://127.0.0.1:1")
	if err := cosign(second, 70_001); err == nil {
		t.Error("an unreachable witness cosigned")
	}
	foreign.SetHead(origin, witnesstest.Head{Size: 1000, Root: tlog.Hash(rootAt(t, m, 1000))}) // as if it had been restored
	if err := cosign(w, 70_002); err != nil {
		t.Errorf("after the witness went back: %v", err)
	}
	foreign.SetHead(origin, witnesstest.Head{Size: 70_002, Root: tlog.Hash(leaf(1))})
	if err := cosign(w, 70_003); !errors.Is(err, log.ErrWitness) {
		t.Errorf("a witness of another log: got %v, want %v", err, log.ErrWitness)
	}
}

func rootAt(t *testing.T, m memory, size int64) evidence.Hash {
	t.Helper()
	root, err := log.Reader(m.tile).Root(size)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestWitnessResponsesAreChecked(t *testing.T) {
	t.Parallel()
	foreign, w := witnessed(t)
	text, _ := signed(t, checkpoint(12))
	for name, test := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"no cosignature":         {200, "— witness.example/1 AAAAAAAA\n", log.ErrWitness},
		"cosignature of another": {200, "— other.example AAAAAAAA\n", log.ErrWitness},
		"nothing":                {200, "", log.ErrWitness},
		"a larger log":           {409, "13\n", log.ErrWitness},
		"not a size":             {409, "many\n", log.ErrWitness},
		"always another size":    {409, "5\n", log.ErrWitness},
		"unknown log":            {404, "", log.ErrUnknownLog},
		"unknown key":            {403, "", log.ErrUnknownLog},
		"overloaded":             {503, "", log.ErrWitness},
		"a redirect":             {307, "", log.ErrWitness},
	} {
		foreign.Respond(func(out http.ResponseWriter) bool {
			out.WriteHeader(test.status)
			_, _ = io.WriteString(out, test.body)
			return true
		})
		_, _, err := w.Cosign(t.Context(), text, func(int64) ([]evidence.Hash, error) { return nil, nil })
		if !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	foreign.Respond(func(out http.ResponseWriter) bool {
		_, _ = io.WriteString(out, strings.Repeat("x", 1<<20))
		return true
	})
	if _, _, err := w.Cosign(t.Context(), text, func(int64) ([]evidence.Hash, error) { return nil, nil }); err == nil {
		t.Error("a response of 1 MiB was accepted")
	}
}

func FuzzCosign(f *testing.F) {
	foreign, _ := witnessed(f)
	text, _ := signed(f, checkpoint(12))
	f.Add([]byte("— witness.example/1 AAAAAAAA\n"))
	f.Fuzz(func(t *testing.T, response []byte) {
		if valid := log.ValidCosignatures(text, response, foreign.VerifierKey()); len(valid) > 0 {
			t.Errorf("a cosignature that the witness did not make is accepted: %q", valid)
		}
	})
}
