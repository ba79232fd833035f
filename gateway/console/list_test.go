package console

import (
	"context"
	"encoding/csv"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
)

// numbers is a listing of the numbers below n.
func numbers(n int) listing[int] {
	return listing[int]{
		columns: []column[int]{{"Number", func(i int) cell { return number(int64(i)) }}, {"Text", func(int) cell { return text("x") }}},
		fetch: func(ctx context.Context, p api.PageRequest) (out api.Page[int], err error) {
			first, _ := strconv.Atoi(p.After)
			for i := first; i < min(first+p.Limit, n); i++ {
				out.Items = append(out.Items, i)
			}
			if first+p.Limit < n {
				out.Next = strconv.Itoa(first + p.Limit)
			}
			return out, ctx.Err()
		},
	}
}

func TestDownloadsAreWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		rows, want int
		incomplete bool
	}{
		"some pages":         {rows: 2500, want: 2500},
		"as many as allowed": {rows: mostRows, want: mostRows},
		"one more":           {rows: mostRows + 1, want: mostRows, incomplete: true},
	} {
		t.Run(name, func(t *testing.T) {
			late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0)) // the work time of the request is over
			defer cancel()
			w := httptest.NewRecorder()
			r := &request{Request: httptest.NewRequestWithContext(late, http.MethodGet, "/console/money/ledger?format=csv", nil), w: w}
			r.Pattern = "GET /console/money/ledger"
			if err := numbers(tt.rows).download(r); err != nil {
				t.Fatal(err)
			}
			read := csv.NewReader(strings.NewReader(w.Body.String()))
			read.FieldsPerRecord = -1
			rows, err := read.ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			rows = rows[1:] // the names of the columns
			last := rows[len(rows)-1]
			if incomplete := strings.HasPrefix(last[0], "INCOMPLETE"); incomplete != tt.incomplete {
				t.Errorf("the last row is %q", last)
			} else if incomplete {
				rows = rows[:len(rows)-1]
			}
			if len(rows) != tt.want {
				t.Errorf("got %d rows, want %d", len(rows), tt.want)
			}
			if got := w.Header().Get("Content-Disposition"); got != `attachment; filename="money-ledger.csv"` {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestABrowserThatDisconnectsEndsItsDownload(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	r := &request{Request: httptest.NewRequestWithContext(gone, http.MethodGet, "/console/agents?format=csv", nil), w: w}
	if err := numbers(5000).download(r); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(w.Body.String(), "\n"); lines != 1+rowsAtOnce {
		t.Errorf("got %d lines", lines)
	}
}
