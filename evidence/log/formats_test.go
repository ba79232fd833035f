package log_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
)

const origin = "shop.example/uim-ledger/3"

func checkpoint(size int64) log.Checkpoint {
	return log.Checkpoint{Origin: origin, Size: size, Root: leaf(size), Time: time.Unix(1_800_000_000, 0).UTC()}
}

func signed(tb testing.TB, c log.Checkpoint) ([]byte, note.Verifier) {
	tb.Helper()
	private, vkey := newKey(c.Origin)
	signer, err := log.NewSigner(c.Origin, private)
	if err != nil {
		tb.Fatal(err)
	}
	verifier, err := log.ParseVerifier(vkey)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := c.Sign(signer)
	if err != nil {
		tb.Fatal(err)
	}
	return text, verifier
}

func TestCheckpointIsSigned(t *testing.T) {
	t.Parallel()
	c := checkpoint(12)
	text, verifier := signed(t, c)
	opened, err := log.OpenCheckpoint(text, verifier)
	if err != nil || opened.Checkpoint != c || len(opened.Signers) != 1 || opened.Signers[0] != origin {
		t.Errorf("got %+v, %v", opened, err)
	}
	if read, err := log.ReadCheckpoint(text); err != nil || read != c {
		t.Errorf("got %+v, %v", read, err)
	}
	_, other := signed(t, log.Checkpoint{Origin: "other"})
	for name, bad := range map[string][]byte{
		"another size": bytes.Replace(text, []byte("\n12\n"), []byte("\n13\n"), 1),
		"another time": bytes.Replace(text, []byte("time 18"), []byte("time 19"), 1),
	} {
		if _, err := log.OpenCheckpoint(bad, verifier); !errors.Is(err, evidence.ErrSignature) {
			t.Errorf("%s: got %v, want %v", name, err, evidence.ErrSignature)
		}
	}
	if _, err := log.OpenCheckpoint(text, other); !errors.Is(err, evidence.ErrSignature) {
		t.Errorf("another key: got %v, want %v", err, evidence.ErrSignature)
	}
	if _, err := log.OpenCheckpoint([]byte(c.Text()), verifier); !errors.Is(err, log.ErrCheckpoint) {
		t.Errorf("no signature: got %v, want %v", err, log.ErrCheckpoint)
	}
}

func TestParseCheckpointRefuses(t *testing.T) {
	t.Parallel()
	text := checkpoint(12).Text()
	for name, bad := range map[string]string{
		"nothing":           "",
		"no line end":       strings.TrimSuffix(text, "\n"),
		"an empty line":     strings.Replace(text, "\ntime", "\n\ntime", 1),
		"a leading zero":    strings.Replace(text, "\n12\n", "\n012\n", 1),
		"a negative size":   strings.Replace(text, "\n12\n", "\n-1\n", 1),
		"a huge size":       strings.Replace(text, "\n12\n", "\n9223372036854775807\n", 1),
		"a short root":      strings.Replace(text, "=\n", "\n", 1),
		"two times":         text + "time 5\n",
		"a time of letters": strings.Replace(text, "time 18", "time x", 1),
		"two lines":         "a\n1\n",
		"a long origin":     strings.Repeat("a", 2000) + text,
		"too long":          text + strings.Repeat("x\n", log.MaxCheckpoint),
	} {
		if c, err := log.ParseCheckpoint(bad); !errors.Is(err, log.ErrCheckpoint) {
			t.Errorf("%s: got %+v, %v", name, c, err)
		}
	}
	if c, err := log.ParseCheckpoint(text + "another extension\n"); err != nil || c != checkpoint(12) {
		t.Errorf("with an unknown extension: %+v, %v", c, err)
	}
}

func TestOriginsAreNamesOfKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for issuer, want := range map[string]string{
		"shop.example": "shop.example/uim-ledger/0", "a b": "a%20b/uim-ledger/0", "a+b": "a%2Bb/uim-ledger/0", "a%20b": "a%2520b/uim-ledger/0",
		"é": "%C3%A9/uim-ledger/0", "https://x": "https://x/uim-ledger/0",
	} {
		got := log.Origin(issuer, 0)
		if got != want || seen[got] != "" {
			t.Errorf("%q: got %q, want %q", issuer, got, want)
		}
		seen[got] = issuer
		_, vkey := newKey(got)
		if v, err := note.NewVerifier(vkey); err != nil || v.Name() != got {
			t.Errorf("%q: %v", issuer, err)
		}
	}
}

func TestVerifierKeysAreChecked(t *testing.T) {
	t.Parallel()
	_, vkey := newKey(origin)
	for name, bad := range map[string]string{
		"nothing": "", "another id": strings.Replace(vkey, "+", "+0", 1), "another name": "x" + vkey, "no key": origin + "+00000000+",
		"a space": strings.Replace(vkey, "/", " ", 1), "not base64": vkey[:len(vkey)-2] + "!!",
	} {
		if _, err := log.ParseVerifier(bad); !errors.Is(err, log.ErrVerifier) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := log.ParseCosigner(vkey); !errors.Is(err, log.ErrVerifier) {
		t.Errorf("the key of a log as that of a witness: %v", err)
	}
}

func TestProofText(t *testing.T) {
	t.Parallel()
	note, _ := signed(t, checkpoint(12))
	for _, p := range []log.Proof{
		{Index: 7, Hashes: []evidence.Hash{leaf(1), leaf(2)}, Checkpoint: note},
		{Checkpoint: note},
		{Index: 1, Hashes: []evidence.Hash{leaf(3)}},
	} {
		got, err := log.ParseProof(p.Text())
		if err != nil || !bytes.Equal(got.Text(), p.Text()) {
			t.Errorf("got %+v, %v from %s", got, err, p.Text())
		}
	}
	text := string((log.Proof{Index: 7, Hashes: []evidence.Hash{leaf(1)}, Checkpoint: note}).Text())
	if p, err := log.ParseProof([]byte(strings.Replace(text, "index", "extra eA==\nindex", 1))); err != nil || p.Index != 7 {
		t.Errorf("with extra data: %+v, %v", p, err)
	}
	for name, bad := range map[string]string{
		"nothing":           "",
		"another version":   strings.Replace(text, "@v1", "@v2", 1),
		"no index":          strings.Replace(text, "index 7\n", "", 1),
		"a leading zero":    strings.Replace(text, "index 7", "index 07", 1),
		"bad extra data":    strings.Replace(text, "index", "extra !\nindex", 1),
		"two extra lines":   strings.Replace(text, "index", "extra eA==\nextra eA==\nindex", 1),
		"a short hash":      strings.Replace(text, "=\n\n", "\n\n", 1),
		"no checkpoint":     strings.TrimSuffix(text, "\n\n"+string(note)),
		"more than 63 hash": strings.Replace(text, "index 7\n", "index 7\n"+strings.Repeat(string(log.HashLines([]evidence.Hash{leaf(1)})), 63), 1),
		"too long":          text + strings.Repeat("x", 1<<20),
	} {
		if p, err := log.ParseProof([]byte(bad)); !errors.Is(err, log.ErrProof) {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
	}
}

func FuzzParseCheckpoint(f *testing.F) {
	f.Add(checkpoint(12).Text())
	f.Add("o\n0\n" + checkpoint(0).Text())
	f.Fuzz(func(t *testing.T, text string) {
		c, err := log.ParseCheckpoint(text)
		if err != nil {
			return
		}
		if again, err := log.ParseCheckpoint(c.Text()); err != nil || again != c {
			t.Errorf("%q: parsed as %+v, then as %+v, %v", text, c, again, err)
		}
	})
}

func FuzzOpenCheckpoint(f *testing.F) {
	text, verifier := signed(f, checkpoint(12))
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := log.OpenCheckpoint(text, verifier); err == nil && c.Checkpoint != checkpoint(12) {
			t.Errorf("a checkpoint that was not signed is accepted: %q", text)
		}
		_, _ = log.ReadCheckpoint(text)
	})
}

func FuzzParseProof(f *testing.F) {
	text, _ := signed(f, checkpoint(12))
	f.Add((log.Proof{Index: 7, Hashes: []evidence.Hash{leaf(1), leaf(2)}, Checkpoint: text}).Text())
	f.Add((log.Proof{}).Text())
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := log.ParseProof(text)
		if err != nil {
			return
		}
		if again, err := log.ParseProof(p.Text()); err != nil || !bytes.Equal(again.Text(), p.Text()) {
			t.Errorf("%q: parsed as %+v, %v", text, again, err)
		}
		_ = p.Verify(checkpoint(12), leaf(1))
	})
}

func FuzzParseVerifier(f *testing.F) {
	_, vkey := newKey(origin)
	f.Add(vkey)
	f.Add("w+00000000+BAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := log.ParseVerifier(text); err == nil {
			if foreign, err := note.NewVerifier(text); err != nil || foreign.KeyHash() != v.KeyHash() || foreign.Name() != v.Name() {
				t.Errorf("%q: x/mod: %v", text, err)
			}
		}
		_, _ = log.ParseCosigner(text)
	})
}

func FuzzParseTilePath(f *testing.F) {
	f.Add("0/x001/234.p/5")
	f.Fuzz(func(t *testing.T, path string) {
		level, n, hashes, err := log.ParseTilePath(path)
		if err == nil && (level < 0 || n < 0 || hashes < 1 || hashes > 256) {
			t.Errorf("%q: %d, %d, %d", path, level, n, hashes)
		}
	})
}
