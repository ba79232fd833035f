package agent_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/intents"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// succeededGate is a gateway on which an order costs 0.25 EUR, and 0.50 EUR from an hour later on.
func succeededGate(t *testing.T) *gatetest.Gate {
	t.Helper()
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, upstream: {url: UPSTREAM}, "+
		"policies: [{file: policy.json}, {file: dearer.json, from: 2026-11-21T13:00Z}]}\n", func(g *gatetest.Gate) {
		g.Write("dearer.json", strings.Replace(gatetest.PolicyFile, `"0.25"`, `"0.50"`, 1))
	})
	g.Pass(30 * time.Minute)
	g.Must(g.View.Refresh(t.Context()))
	return g
}

// ordered orders with s, and returns the charge or the error.
func ordered(t *testing.T, s *agent.Service) string {
	t.Helper()
	result, err := s.Execute(t.Context(), gatetest.Ordering, map[string]any{"product": "lamp"}, agent.ExecuteOptions{})
	if changed, ok := errors.AsType[*agent.PolicyChangedError](err); ok {
		return "changed: " + strings.Join(changed.Changes(), " ")
	}
	if err != nil {
		return err.Error()
	}
	return result.Charge.Amount.String()
}

func TestAgreeToSuccessor(t *testing.T) {
	t.Parallel()
	g := succeededGate(t)
	here := "http://" + published
	client := clientOf(t, gateOptions(t, g))
	s, err := client.Discover(t.Context(), here)
	g.Must(err)
	first, err := s.Policy(t.Context())
	g.Must(err)
	second, ok, err := s.Successor(t.Context())
	if err != nil || !ok || second.From.Format(time.RFC3339) != "2026-11-21T13:00:00Z" || second.UID != first.UID ||
		second.Digest == first.Digest {
		t.Fatalf("the successor: %+v, %t, %v", second, ok, err)
	}
	_, err = s.Agree(t.Context(), agent.Acceptance{Digest: first.Digest})
	g.Must(err)
	got := []string{ordered(t, s)}
	next, err := s.Agree(t.Context(), agent.Acceptance{Digest: second.Digest, OnDate: true})
	if err != nil || !next.NotBefore.Equal(second.From) || next.PolicyDigest != second.Digest {
		t.Errorf("the agreement from the date on: %+v, %v, want it to begin at %s", next, err, second.From)
	}
	got = append(got, ordered(t, s))
	file := filepath.Join(t.TempDir(), "session.json")
	g.Must(agent.SaveSession(file, s.Session()))
	g.Later(29 * time.Minute)
	kept, err := agent.LoadSession(file)
	g.Must(err)
	if s, err = client.Resume(kept); err != nil {
		t.Fatal(err)
	}
	got = append(got, ordered(t, s)) // renews the PAT before
	g.Later(time.Minute)
	got = append(got, ordered(t, s))
	g.Later(50 * time.Minute)
	_, err = s.Renew(t.Context())
	g.Must(err)
	got = append(got, ordered(t, s))
	if diff := cmp.Diff([]string{"0.25 EUR", "0.25 EUR", "0.25 EUR", "0.50 EUR", "0.50 EUR"}, got); diff != "" {
		t.Errorf("the charges differ (-want +got):\n%s", diff)
	}
}

func TestAgreeToSuccessorAtOnce(t *testing.T) {
	t.Parallel()
	g := succeededGate(t)
	s, err := clientOf(t, gateOptions(t, g)).Discover(t.Context(), "http://"+published)
	g.Must(err)
	second, _, err := s.Successor(t.Context())
	g.Must(err)
	_, err = s.Agree(t.Context(), agent.Acceptance{Digest: second.Digest})
	g.Must(err)
	if got := ordered(t, s); got != "0.50 EUR" {
		t.Errorf("before the date: %s, want %s", got, "0.50 EUR")
	}
	g.Later(3 * time.Hour) // the PAT has expired for longer than it can be renewed
	if got := ordered(t, s); got != "0.50 EUR" {
		t.Errorf("after the date: %s, want %s", got, "0.50 EUR")
	}
}

func TestChangesAfterDateOfSuccessor(t *testing.T) {
	t.Parallel()
	g := succeededGate(t)
	s, err := clientOf(t, gateOptions(t, g)).Discover(t.Context(), "http://"+published)
	g.Must(err)
	first, err := s.Policy(t.Context())
	g.Must(err)
	_, err = s.Agree(t.Context(), agent.Acceptance{Digest: first.Digest})
	g.Must(err)
	g.Later(30 * time.Minute)
	want := `changed: Anyone may execute "shop.example:order:v1". In the duty to pay: The price is 0.50 EUR, instead of 0.25 EUR.`
	if got := ordered(t, s); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := s.Execute(t.Context(), gatetest.Searching, map[string]any{"query": "lamp"}, agent.ExecuteOptions{}); err != nil {
		t.Errorf("a search, whose terms stay the same: %v", err)
	}
}

// The agreement to a policy holds for an order after another policy takes effect, because the terms of orders stay the same. The receipt
// names the policy that decided the order.
func TestReceiptsAfterASuccession(t *testing.T) {
	t.Parallel()
	const free = `{"target": "shop.example:search:v1", "action": "execute"},`
	for name, tt := range map[string]struct {
		next  string
		terms func(ctx context.Context, before, after []byte, catalog *intents.Catalog, uid string) bool
		want  string
	}{
		"other terms of searches": {strings.Replace(gatetest.PolicyFile, free, "", 1), nil, ""},
		"another text":            {strings.Replace(gatetest.PolicyFile, `"0.25"`, `"0.250"`, 1), nil, "POLICY"},
		"another text, compared by the caller": {
			strings.Replace(gatetest.PolicyFile, `"0.25"`, `"0.250"`, 1),
			func(_ context.Context, before, after []byte, catalog *intents.Catalog, uid string) bool {
				return bytes.Contains(before, []byte(`"0.25"`)) && bytes.Contains(after, []byte(`"0.250"`)) && len(catalog.Intents()) > 1 &&
					uid == gatetest.Ordering
			}, "",
		},
		"compared otherwise by the caller": {
			strings.Replace(gatetest.PolicyFile, `"0.25"`, `"0.250"`, 1),
			func(context.Context, []byte, []byte, *intents.Catalog, string) bool { return false }, "POLICY",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gatetest.New(t, "services:\n- {agents_file: agents.json, upstream: {url: UPSTREAM}, "+
				"policies: [{file: policy.json}, {file: next.json, from: 2026-11-21T13:00Z}]}\n", func(g *gatetest.Gate) {
				g.Write("next.json", tt.next)
			})
			o := gateOptions(t, g)
			o.Receipts, o.SameTerms = filepath.Join(t.TempDir(), "receipts"), tt.terms
			s, err := clientOf(t, o).Discover(t.Context(), "http://"+published)
			g.Must(err)
			first, err := s.Policy(t.Context())
			g.Must(err)
			_, err = s.Agree(t.Context(), agent.Acceptance{Digest: first.Digest})
			g.Must(err)
			order := func(want, policy string) {
				t.Helper()
				got, err := s.Execute(t.Context(), gatetest.Ordering, map[string]any{"product": "lamp"}, agent.ExecuteOptions{})
				g.Must(err)
				if got.Receipt == nil || got.Receipt.Entry.Policy != policy || names(got.Discrepancies) != want {
					t.Fatalf("got %+v, %v; want the policy %s and %q", got.Receipt, got.Discrepancies, policy, want)
				}
			}
			order("", first.Digest)
			g.Later(time.Hour)
			second, err := s.Policy(t.Context())
			g.Must(err)
			order(tt.want, second.Digest)
			order(tt.want, second.Digest)
			if report := verifyReceipts(t, s); names(report.Problems) != tt.want {
				t.Errorf("offline: got %+v, want %q", report.Problems, tt.want)
			}
			if kept, err := s.Book().Policy(second.Digest); err != nil || !bytes.Equal(kept.Document, second.Raw) {
				t.Errorf("the policy is not kept: %+v, %v", kept, err)
			}
			var bundle bytes.Buffer
			g.Must(s.Book().Export(&bundle, receipts.Bundle{Issuer: "shop.example", Agent: "robot", Now: g.Now()}))
			text := unzipped(t, &bundle)
			if !strings.Contains(text, `"digest":"`+second.Digest+`"`) {
				t.Errorf("the bundle does not have the policy: %s", text)
			}
		})
	}
}

// unzipped returns the lines of a bundle.
func unzipped(t *testing.T, bundle *bytes.Buffer) string {
	t.Helper()
	zipped, err := gzip.NewReader(bundle)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
