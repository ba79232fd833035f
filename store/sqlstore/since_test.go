package sqlstore_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A check since a point finds every alteration of later entries, and every earlier entry that is missing. It does not rebuild earlier
// entries; the check of the whole ledger does.
func TestCheckSinceAPoint(t *testing.T) {
	t.Parallel()
	changes := map[string]struct {
		change string
		missed bool // only the check of the whole ledger finds it
	}{
		"nothing": {},
		"a new charge has another intent": {change: "UPDATE ledger SET intent = 'x' WHERE execution_id = '2';" +
			"UPDATE executions SET intent = 'x' WHERE id = '2'"},
		"a new charge has another request": {change: "UPDATE executions SET fingerprint = 'x' WHERE id = '2'"},
		"a new record has another outcome": {change: "UPDATE executions SET outcome = 'failed' WHERE id = '2'"},
		"a new question":                   {change: "UPDATE evidence SET asked = (SELECT asked FROM evidence ORDER BY seq LIMIT 1)"},
		"a new question is missing":        {change: "DELETE FROM evidence WHERE seq = (SELECT MAX(seq) FROM evidence)"},
		"a new charge is missing": {change: "DELETE FROM ledger WHERE execution_id = '2'; DELETE FROM executions WHERE id = '2';" +
			"UPDATE accounts SET captured = 3 WHERE agent_id = 'agent-2'"},
		"a continued chain does not follow": {change: "UPDATE ledger SET leaf = (SELECT prev FROM ledger WHERE agent_id = 'a' AND k = 1) " +
			"WHERE agent_id = 'a' AND k = 1"},
		"an earlier charge is missing": {change: "DELETE FROM ledger WHERE execution_id = '1'; DELETE FROM executions WHERE id = '1';" +
			"UPDATE accounts SET captured = 0 WHERE agent_id = 'agent-1'"},
		"all entries of an earlier account are missing": {change: "DELETE FROM ledger WHERE agent_id = 'agent-1';" +
			"DELETE FROM executions WHERE id = '1'; UPDATE accounts SET captured = 0, kept = 2 WHERE agent_id = 'agent-1'"},
		"an earlier amount": {change: "UPDATE ledger SET amount = 4 WHERE execution_id = '1'"},
		"an earlier head":   {change: "UPDATE accounts SET head = (SELECT head FROM accounts WHERE agent_id = 'a') WHERE agent_id = 'agent-1'"},
		"an earlier intent": {change: "UPDATE ledger SET intent = 'x' WHERE execution_id = '1'", missed: true},
		"an earlier question": {
			change: "UPDATE evidence SET asked = signed WHERE seq = (SELECT MIN(seq) FROM evidence)", missed: true,
		},
	}
	pay := func(t *testing.T, place, id string) {
		t.Helper()
		s, err := sqlstore.Open(t.Context(), place, sqlstore.Options{Now: time.Now})
		must(t, err)
		_, err = s.TopUp(t.Context(), store.TopUp{Service: "s", AgentID: "a", Amount: money.Amount{Nano: 1000, Currency: "USD"}})
		must(t, err)
		_, err = s.TopUp(t.Context(), store.TopUp{Service: "s", AgentID: "a", Amount: money.Amount{Nano: 1000, Currency: "USD"}})
		must(t, err)
		agreedCall(t, s, id, `{"uid": "p`+id+`"}`)
		must(t, s.Close())
	}
	var points []sqlstore.VerifiedPoint // of each engine
	for i, whole := range filledOnce(t, func(t *testing.T, place string) {
		t.Helper()
		pay(t, place, "1")
		_, point, err := sqlstore.VerifySince(t.Context(), place, nil)
		must(t, err)
		points = append(points, point)
		pay(t, place, "2")
	}) {
		for _, name := range whole.some(slices.Sorted(maps.Keys(changes))) {
			t.Run(whole.engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				c, point := changes[name], points[i]
				place := whole.copyWith(t, c.change)
				_, now, err := sqlstore.VerifySince(t.Context(), place, &point)
				wrong := errors.Is(err, store.ErrAltered) || errors.Is(err, store.ErrUnbalanced)
				if want := c.change != "" && !c.missed; wrong != want || (err != nil) != want {
					t.Errorf("since the point: got %v, want an error: %t", err, want)
				}
				if err == nil && now.Seq != point.Seq+4 {
					t.Errorf("the next point is %d, want %d", now.Seq, point.Seq+4)
				}
				if _, err := sqlstore.Verify(t.Context(), place); (err != nil) != (c.change != "") {
					t.Errorf("the whole ledger: got %v", err)
				}
				point.Seq = 1000
				if _, _, err := sqlstore.VerifySince(t.Context(), place, &point); c.change == "" && !errors.Is(err, sqlstore.ErrBeforePoint) {
					t.Errorf("before the point: got %v", err)
				}
			})
		}
	}
}
