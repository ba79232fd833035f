package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A call takes its places in the limits when it begins, and keeps them when it is captured. The next call exceeds the limit.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	s, err := sqlstore.Open(ctx, filepath.Join(dir, "state.db"), sqlstore.Options{Now: time.Now})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // the process ends
	call := func(id string) error {
		admission, err := s.Begin(ctx, store.BeginRequest{
			Execution:  store.Execution{ID: id, Service: "shop", AgentID: "agent-1", Intent: "shop.example:search:v1"},
			Limits:     []store.Reservation{{Limit: limit.Limit{ID: "/permission/0", Rate: limit.Rate{Max: 1, Period: limit.Hour}}}},
			Candidates: []store.Candidate{{}},
			Hold:       time.Minute,
		})
		if err != nil {
			return err
		}
		_, err = s.Settle(ctx, admission, store.Settlement{State: store.Captured, Outcome: store.Done})
		return err
	}
	fmt.Println(call("1"))
	full, ok := errors.AsType[*store.LimitError](call("2"))
	fmt.Println(ok, full.Rate)
	// Output:
	// <nil>
	// true 1/hour
}
