package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// relayStatements runs each operation of a relay once, and returns its SQL statements.
func relayStatements(t *testing.T, s *sqlstore.Store, r *sqlmail.Store) []string {
	t.Helper()
	seen := sqlstore.Statements(s)
	from, to, ctx := numbered(8), numbered(7), t.Context()
	threaded := relayed(from, to, "msg_b")
	threaded.ThreadID, threaded.InReplyTo, threaded.IdempotencyKey = "t", "msg_a", "k"
	threaded.Blobs, threaded.Attachments = []string{"blob"}, []byte("[{}]")
	place := &mail.Place{CreatedAt: time.Now().Add(-time.Hour), ID: "x"}
	public, words := mail.Public, "words"
	var postings []mail.WebhookPost
	steps := []func() error{
		func() error {
			_, _, err := r.Admit(ctx, mail.Guard{Key: to, Until: time.Now()}, time.Second)
			return err
		},
		func() error {
			_, _, err := r.Admit(ctx, mail.Guard{Key: numbered(1e9), Until: time.Now()}, 0)
			return err
		},
		func() error { _, _, err := r.Admit(ctx, mail.Guard{Key: from, Until: time.Now()}, 0); return err },
		func() error {
			_, err := r.Update(ctx, to, mail.Profile{
				Visibility: &public, Words: &words, Capabilities: []byte("[]"), Tags: []string{"a", "b", "own:6"},
			})
			return err
		},
		func() error { return errors.Join(r.Suspend(ctx, to, true), r.Suspend(ctx, to, false)) },
		func() error { _, err := r.Agent(ctx, to); return err },
		func() error { _, _, err := r.Agents(ctx, &to, 10); return err },
		func() error { _, _, err := r.Tags(ctx, &mail.TagCount{Tag: "a", Count: 1}, 10); return err },
		func() error { _, err := r.SetEntry(ctx, to, from, mail.Allow); return err },
		func() error { _, err := r.SetEntry(ctx, to, from, mail.Allow); return err },
		func() error { _, _, err := r.Entries(ctx, to, "", 1, 10); return err },
		func() error { _, _, err := r.Entries(ctx, to, mail.Allow, 1, 10); return err },
		func() error { _, err := r.Entry(ctx, to, from); return err },
		func() error { _, err := r.SetWebhook(ctx, mail.Webhook{Owner: to}); return err },
		func() error { _, err := r.Webhook(ctx, to); return err },
		func() error {
			_, err := r.AddBlob(ctx, mail.Blob{ID: "blob", Owner: from, ExpiresAt: time.Now().Add(time.Hour)},
				mail.BlobBounds{Count: 9, Bytes: 9, All: 9})
			return err
		},
		func() error { _, err := r.UnknownBlobs(ctx, []string{"blob", "other"}); return err },
		func() error { _, err := r.ReadableBlob(ctx, "blob", to); return ignoring(err, mail.ErrForbidden) },
		func() error { _, _, err := r.BlobUse(ctx, from); return err },
		func() error { _, _, err := r.Send(ctx, relayed(from, to, "msg_a")); return err },
		func() error { _, _, err := r.Send(ctx, threaded); return err },
		func() error { _, _, err := r.Send(ctx, threaded); return err },
		func() error {
			full := relayed(from, to, "msg_c")
			full.Waiting = 1
			_, _, err := r.Send(ctx, full)
			return ignoring(err, mail.ErrQueueFull)
		},
		func() error { return manyAtOnce(ctx, r, 200) },
		func() error { return ignoring(r.DeleteBlob(ctx, "blob", from), mail.ErrReferenced) },
		func() error { _, err := r.Message(ctx, "msg_a"); return err },
		func() error { _, _, err := r.Waiting(ctx, to, place, 10); return err },
		func() error { _, _, err := r.Thread(ctx, "t", to, place, 10); return err },
		func() error { _, _, err := r.List(ctx, nil, nil, 10); return err },
		func() error { _, _, err := r.List(ctx, &to, place, 10); return err },
		func() error { _, _, err := r.Woken(ctx, time.Now()); return err },
		func() (err error) {
			c := mail.Claim{Now: time.Now(), Lease: time.Minute, Limit: 2, Each: 2, Busy: map[mail.Key]int{numbered(3): 2}}
			postings, err = r.Postings(ctx, c)
			return err
		},
		func() error { return r.Posted(ctx, postings[0], time.Now(), false, 20) },
		func() error { return r.Posted(ctx, postings[0], time.Now(), false, 1) },
		func() error { return r.Posted(ctx, postings[0], time.Now(), true, 1) },
		func() error { return r.Delivered(ctx, to, []string{"msg_a", "msg_b", "msg_c", "msg_d", "msg_e"}) },
		func() error { _, _, err := r.Sweep(ctx, 100); return err },
		func() error { return r.DeleteEntry(ctx, to, from) },
		func() error { return r.DeleteWebhook(ctx, to) },
		func() error { _, err := r.Delete(ctx, to); return err },
	}
	for _, q := range []mail.Search{
		{},
		{Tags: []string{"tenth3"}},
		{Tags: []string{"tenth3", "own:13"}},
		{Words: []string{"x", "y"}, Name: "z"},
		{Prefixes: []string{"own:"}},
		{ActiveSince: time.Now(), After: &mail.AgentPlace{ActiveAt: time.Now(), Key: to}},
	} {
		q.Limit = 20
		steps = append(steps[:7:7], append([]func() error{func() error { _, _, err := r.Discover(ctx, q); return err }}, steps[7:]...)...)
	}
	for _, q := range []mail.Query{{}, {Sender: &from}, {ThreadID: "t"}, {InReplyTo: "r"}, {Sender: &from, ThreadID: "t", InReplyTo: "r"}} {
		for _, q.After = range []*mail.Place{nil, place} {
			for _, q.Status = range []string{mail.Sent, mail.Delivered, mail.Expired} {
				q.Recipient, q.Limit = to, 50
				steps = append(steps[:7:7], append([]func() error{func() error { _, _, err := r.Messages(ctx, q); return err }}, steps[7:]...)...)
			}
		}
	}
	for n, do := range steps {
		if err := do(); err != nil {
			t.Fatalf("step %d: %v", n, err)
		}
	}
	var list []string
	for _, query := range seen() {
		switch verb, _, _ := strings.Cut(query, " "); verb {
		case "SELECT", "INSERT", "UPDATE", "DELETE":
			list = append(list, query)
		}
	}
	if len(list) < 60 {
		t.Fatalf("only %d statements were explained", len(list))
	}
	return list
}

// manyAtOnce sends many messages at the same time, so that the statements have all possible lengths.
func manyAtOnce(ctx context.Context, r *sqlmail.Store, many int) error {
	var all errgroup.Group
	for n := range many {
		m := relayed(numbered(n+1), numbered(n+2), fmt.Sprintf("many_%d", n))
		m.IdempotencyKey = m.ID
		all.Go(func() error {
			_, _, _, err := r.SendSigned(ctx, mail.Guard{Key: m.Sender, Signature: [64]byte{1}, Until: time.Now()}, 0, m)
			if err == nil {
				err = r.Delivered(ctx, m.Recipient, []string{m.ID, "none"})
			}
			return err
		})
	}
	return all.Wait()
}

func ignoring(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// A poll for waiting messages, the most frequent operation, seeks one position in one index. A statement must not make SQLite scan a table,
// or sort more rows than the agents with a rare tag.
func TestRelayStatementsScanNoTable(t *testing.T) {
	t.Parallel()
	s, r := relayWithData(t, places[0].at(t), 50, 500)
	for _, query := range relayStatements(t, s, r) {
		var plan []string
		args := make([]any, strings.Count(query, "?"))
		for i := range args {
			args[i] = 1
		}
		err := s.Engine().List(t.Context(), "EXPLAIN QUERY PLAN "+query, args, func(scan func(...any) error) error {
			var id, parent, unused int
			var detail string
			err := scan(&id, &parent, &unused, &detail)
			plan = append(plan, detail)
			return err
		})
		if err != nil {
			t.Errorf("%v\n\t%s", err, query)
		}
		for _, step := range plan {
			walks := strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "USING") && step != "SCAN relay_totals" &&
				!strings.Contains(step, "CONSTANT ROW") && !strings.HasPrefix(step, "SCAN VALUES") && !strings.Contains(step, "-ROW VALUES")
			if walks || strings.Contains(step, "TEMP B-TREE") && !strings.Contains(query, "FROM relay_tags r CROSS JOIN") {
				t.Errorf("%s\n\t%s", step, query)
			}
		}
		if strings.Contains(query, "FROM relay_messages WHERE recipient = ? AND state = ?") && (len(plan) != 1 ||
			!regexp.MustCompile(`^SEARCH relay_messages USING INDEX relay_messages_(box|pair) \(recipient=\? AND (sender=\? AND )?state=\?`).
				MatchString(plan[0])) {
			t.Errorf("%q\n\t%s", plan, query)
		}
	}
}

// PostgreSQL caches plans that are independent of the arguments. Such a plan must not scan a table that grows.
func TestPostgresPlansScanNoRelayTable(t *testing.T) {
	t.Parallel()
	place := ownDatabase(t)
	s, r := relayWithData(t, place, 5000, 50_000)
	list := relayStatements(t, s, r)
	db, err := sql.Open("pgx", place)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "SET plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatal(err)
	}
	for n, query := range list {
		plan, err := genericPlan(context.WithoutCancel(t.Context()), db, fmt.Sprintf("q%d", n), query)
		if err != nil {
			t.Errorf("%v\n\t%s", err, query)
			continue
		}
		m := regexp.MustCompile(`Seq Scan on relay_(messages|agents|tags|tag_counts)\b`).FindString(plan)
		if m != "" && !strings.Contains(query, " LIKE ") { // no index supports a search for a word
			t.Errorf("%s\n\t%s\n%s", m, query, plan)
		}
	}
}
