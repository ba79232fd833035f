package sqlstore_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// cellCalls is how many paid calls each agent makes.
const cellCalls = 10

// BenchmarkCell measures how many bytes of a database an agent with an agreement and a PAT takes, and a paid call:
//
//	go test ./store/sqlstore -run '^$' -bench Cell -benchtime 1x -growth.agents 100000 -timeout 1h
func BenchmarkCell(b *testing.B) {
	for _, p := range places {
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				benchmarkCell(b, p.at(b), int64(*grownAgents))
			}
		})
	}
}

func benchmarkCell(b *testing.B, place string, agents int64) {
	b.Helper()
	fill(b, place, 0, nil)
	empty := databaseSize(b, place)
	fill(b, place, agents, func(s *sqlstore.Store) func(int64) error { return agreeing(b, s) })
	agreed := databaseSize(b, place)
	fill(b, place, agents*cellCalls, func(s *sqlstore.Store) func(int64) error {
		return func(n int64) error {
			return paidByAgent(b.Context(), s, fmt.Sprintf("agent-%d", n%agents), fmt.Sprintf("01890000-0000-7000-8000-%012d", n))
		}
	})
	called := databaseSize(b, place)
	b.ReportMetric(float64(agreed-empty)/float64(agents), "B/agent")
	b.ReportMetric(float64(called-agreed)/float64(agents*cellCalls), "B/paid-call")
}

// fill opens a database, runs an operation a number of times, and closes the database.
func fill(b *testing.B, place string, times int64, operation func(*sqlstore.Store) func(int64) error) {
	b.Helper()
	s, err := sqlstore.Open(b.Context(), place, sqlstore.Options{Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var group errgroup.Group
	if times > 0 {
		do := operation(s)
		for range 64 {
			group.Go(func() error {
				for n := next.Add(1); n <= times; n = next.Add(1) {
					if err := do(n); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	if err := errors.Join(group.Wait(), s.Close()); err != nil {
		b.Fatal(err)
	}
}

// agreeing returns an operation that issues a PAT to another agent each time.
func agreeing(b *testing.B, s *sqlstore.Store) func(int64) error {
	b.Helper()
	issuer, _, offer, err := issuerOn(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	return func(n int64) error {
		public, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return err
		}
		key, err := keys.New(public)
		if err != nil {
			return err
		}
		id := fmt.Sprintf("agent-%d", n)
		signed, err := pat.SignAgreement(private, pat.AgreementClaims{
			AgentID: pat.AgentID(id), Audience: "shop.example", URL: "https://shop.example/api/pat/issue", IssuedAt: time.Now(),
			PolicyUID: offer.UID, PolicyDigest: offer.Digest,
		})
		if err != nil {
			return err
		}
		_, err = issuer.Issue(b.Context(), pat.IssueRequest{AgentID: id, SignedPolicy: signed, PublicKey: string(key.JWK())})
		return err
	}
}

// issuerOn returns an issuer for a store, its view of revocations, and the policy that it offers.
func issuerOn(ctx context.Context, s *sqlstore.Store) (*pat.Issuer, *pat.View, pat.Offer, error) {
	keyring, err := keys.Open(ctx, keys.Config{Store: s, Files: &noFiles{}, Algorithm: keys.EdDSA, Overlap: time.Hour, Now: time.Now})
	if err != nil {
		return nil, nil, pat.Offer{}, err
	}
	offer, err := pat.NewOffer([]byte(`{"uid":"https://shop.example/policy/1"}`), "https://shop.example/policy/1")
	if err != nil {
		return nil, nil, pat.Offer{}, err
	}
	view := pat.NewView(s, keyring, time.Now)
	if err := view.Refresh(ctx); err != nil {
		return nil, nil, pat.Offer{}, err
	}
	issuer, err := pat.NewIssuer(pat.IssuerConfig{
		Rules: pat.Rules{
			Service: "s", Issuer: "shop.example", PolicyURL: "https://shop.example/api/policy",
			IssueURLs: []string{"https://shop.example/api/pat/issue"}, TTL: 24 * time.Hour,
			Freshness: pat.FreshnessOptional, Admission: pat.AdmitOpen,
		},
		Terms: oneTerm{offer}, Store: s, Keys: keyring, View: view, Now: time.Now,
	})
	return issuer, view, offer, err
}

func paidByAgent(ctx context.Context, s *sqlstore.Store, agent, id string) error {
	admission, err := s.Begin(ctx, store.BeginRequest{
		Execution: store.Execution{ID: id, Service: "s", AgentID: pat.AgentID(agent), Intent: "shop.example:buy:v1"},
		Limits: []store.Reservation{{
			Principal: pat.Principal(agent), Limit: limit.Limit{ID: "1", Rate: limit.Rate{Max: limit.MaxCount, Period: limit.Hour}},
		}},
		Candidates: []store.Candidate{{Rule: "https://shop.example/policy/1#buy", Charge: money.Amount{Nano: 3, Currency: "USD"}}},
		Billing:    store.Billing{Credit: money.Amount{Nano: money.Unit, Currency: "USD"}}, Hold: time.Minute,
	})
	if err == nil {
		_, err = s.Settle(ctx, admission, store.Settlement{State: store.Captured, Outcome: store.Done})
	}
	return err
}

// databaseSize returns the bytes of a database that no process uses.
func databaseSize(b *testing.B, place string) int64 {
	b.Helper()
	if !strings.HasPrefix(place, "postgres") {
		info, err := os.Stat(place)
		if err != nil {
			b.Fatal(err)
		}
		return info.Size()
	}
	db, err := sql.Open("pgx", place)
	if err != nil {
		b.Fatal(err)
	}
	var size int64
	err = db.QueryRowContext(b.Context(), "SELECT pg_database_size(current_database())").Scan(&size)
	if err := errors.Join(err, db.Close()); err != nil {
		b.Fatal(err)
	}
	return size
}
