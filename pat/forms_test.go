package pat_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

var update = flag.Bool("update", false, "write testdata anew with the python3 and node that are here")

// writers are the ways in which agents in other languages encode the policy that they sign. The programs print the encodings of the files
// of their arguments as a JSON array of strings.
var writers = []struct {
	form, suffix, program string
	args                  []string
}{
	{"compact", ".node", "node", []string{"-e", "console.log(JSON.stringify(process.argv.slice(1)" +
		".map((f) => JSON.stringify(JSON.parse(require('fs').readFileSync(f, 'utf8'))))))"}},
	{
		"python", ".python", "python3",
		[]string{"-c", "import json,sys; print(json.dumps([json.dumps(json.loads(open(f, 'rb').read())) for f in sys.argv[1:]]))"},
	},
}

func policies(tb testing.TB) []string {
	tb.Helper()
	names, err := filepath.Glob("testdata/policies/*.json")
	if err != nil || len(names) == 0 {
		tb.Fatal("no policies in testdata", err)
	}
	return names
}

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// verifiedForm returns the form of the offer for which a detached signature over text verifies.
func verifiedForm(tb testing.TB, o pat.Offer, text []byte) (string, error) {
	tb.Helper()
	a, err := pat.VerifyAgreement(pat.Presentation{
		AgentID: "a", Signed: hex.EncodeToString(ed25519.Sign(edKey(), text)), Key: keyOf(tb, edKey()),
	}, recipient, o, nil, noon)
	return a.Form, err
}

func TestPolicySignedInOtherEncodings(t *testing.T) {
	for _, name := range policies(t) {
		raw := read(t, name)
		o, err := pat.NewOffer(raw, policyUID)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		canonical := must(strictjson.Canonical(must(strictjson.Decode(raw))))
		for form, text := range map[string][]byte{"served": raw, "rfc8785": canonical} {
			if got, err := verifiedForm(t, o, text); err != nil || (got != "detached:"+form+":ed25519" && got != "detached:served:ed25519") {
				t.Errorf("%s as %s: %q, %v", name, form, got, err)
			}
		}
		for _, w := range writers {
			text := read(t, strings.TrimSuffix(name, ".json")+w.suffix)
			if got, err := verifiedForm(t, o, text); err != nil || !strings.HasPrefix(got, "detached:") {
				t.Errorf("%s as %s: %q, %v; want a text that starts with %q, nil", name, w.form, got, err, "detached:")
			}
			if got, err := verifiedForm(t, o, append(text, '\n', '\n')); err == nil {
				t.Errorf("%s as %s with trailing newlines: accepted as %q", name, w.form, got)
			}
		}
	}
}

// The languages must produce the files in testdata. Languages that are not installed are skipped.
func TestTestdataMatchesTheLanguages(t *testing.T) {
	for _, w := range writers {
		t.Run(w.program, func(t *testing.T) {
			if _, err := exec.LookPath(w.program); err != nil {
				t.Skipf("SKIPPED: %s is not installed; only its files in testdata are tested", w.program)
			}
			names := policies(t)
			out, err := exec.CommandContext(t.Context(), w.program, slices.Concat(w.args, names)...).Output()
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			if err := json.Unmarshal(out, &texts); err != nil || len(texts) != len(names) {
				t.Fatalf("%v: %s", err, out)
			}
			for i, name := range names {
				out := []byte(texts[i])
				golden := strings.TrimSuffix(name, ".json") + w.suffix
				if *update {
					if err := os.WriteFile(golden, out, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if want := read(t, golden); !bytes.Equal(out, want) {
					t.Errorf("%s: %s writes\n%s\nnot\n%s", name, w.program, out, want)
				}
			}
		})
	}
}

func TestFormIsNamed(t *testing.T) {
	o := offerOf(t, policyV1)
	for form, text := range map[string]string{
		"served":  string(policyV1),
		"rfc8785": `{"permission":[{"action":"execute","note":"ä","price":1.5}],"uid":"https://shop.example/policy/1"}`,
		"compact": `{"uid":"https://shop.example/policy/1","permission":[{"action":"execute","price":1.5,"note":"ä"}]}`,
		"python":  `{"uid": "https://shop.example/policy/1", "permission": [{"action": "execute", "price": 1.5, "note": "\u00e4"}]}`,
	} {
		if got, err := verifiedForm(t, o, []byte(text)); err != nil || got != "detached:"+form+":ed25519" {
			t.Errorf("%s: %q, %v; want %v, nil", form, got, err, "detached:"+form+":ed25519")
		}
	}
}

func TestPolicyDigest(t *testing.T) {
	// printf '{"a":1}' | openssl dgst -sha256 -binary | basenc --base64url
	const want = "sha-256:AVq9f1zFei3ZS3WQ8ErYCEJzkF7jPsXOvq5iJ2qX-GI"
	for _, text := range []string{`{"a":1}`, ` { "a" : 1.0 } `, `{"\u0061":1e0}`} {
		if got, err := pat.PolicyDigest([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %v, nil", text, got, err, want)
		}
	}
	for name, text := range map[string]string{
		"not an object": `[]`, "twice": `{"a":1,"a":1}`, "inexact": `{"a":9007199254740993}`, "not JSON": `{`, "huge": `{"a":"` +
			strings.Repeat("x", pat.MaxPolicy) + `"}`,
	} {
		if got, err := pat.PolicyDigest([]byte(text)); err == nil || got != "" {
			t.Errorf("%s: %s, %v; want an empty string, an error", name, got, err)
		}
		if o, err := pat.NewOffer([]byte(text), policyUID); err == nil || o.Digest != "" {
			t.Errorf("%s: the offer was accepted", name)
		}
	}
	_, err := pat.NewOffer([]byte(`{"a":[0.12345678901234567890]}`), "")
	if inexact, ok := errors.AsType[*strictjson.InexactError](err); !ok || inexact.Pointer != "/a/0" {
		t.Errorf("%v does not name the number", err)
	}
}
