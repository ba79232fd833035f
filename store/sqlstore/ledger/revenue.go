package ledger

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// day is a day in nanoseconds.
const day = int64(24 * time.Hour)

// groups has the SQL expression for the name of each group. Each expression is valid for the tables ledger and refunds.
var groups = map[store.RevenueGroup]string{
	store.ByIntent: "intent",
	store.ByAgent:  "agent_id",
	store.ByMonth:  "CAST(at / " + strconv.FormatInt(day, 10) + " AS TEXT)", // the day; the caller adds up months
}

// Revenue returns the captured charges and the refunds of a period, ordered by name and currency. Errors are those of Statements.
func (l *Ledger) Revenue(ctx context.Context, f store.RevenueFilter) ([]store.Revenue, error) {
	group := groups[f.By]
	dates := store.StatementFilter{Service: f.Service, From: f.From, To: f.To}
	bounds, err := l.period(ctx, &dates)
	if err != nil {
		return nil, err
	}
	// Amounts are split into units and billionths, so that no sum overflows.
	const units, billionths = "amount / 1000000000", "amount % 1000000000"
	q := engine.Conditions{Args: []any{f.Service, bounds.from, bounds.to, f.Service, bounds.from, bounds.to}}
	tables := "SELECT name, currency, CAST(SUM(calls) AS BIGINT), CAST(SUM(u) AS BIGINT), CAST(SUM(n) AS BIGINT), CAST(SUM(ru) AS BIGINT), " +
		"CAST(SUM(rn) AS BIGINT) FROM (" +
		"SELECT " + group + " AS name, currency, 1 AS calls, " + units + " AS u, " + billionths + " AS n, 0 AS ru, 0 AS rn FROM ledger " +
		"WHERE service = ? AND at >= ? AND at < ? AND to_state = 'captured' " +
		"UNION ALL SELECT " + group + ", currency, 0, 0, 0, " + units + ", " + billionths + " FROM refunds WHERE service = ? AND at >= ? AND at < ?) AS every"
	end := "GROUP BY name, currency ORDER BY name, currency"
	var query string
	if f.By == store.ByMonth {
		query = tables + " " + end
	} else {
		if n := strings.LastIndexByte(f.After, ' '); n >= 0 {
			q.Add("(name, currency) > (?, ?)", f.After[:n], f.After[n+1:])
		}
		query = q.Query(tables, end, f.Limit)
	}
	rows, err := engine.All(ctx, l.db, query, q.Args, func(scan engine.Scan) (r store.Revenue, err error) {
		err = scan(&r.Name, &r.Currency, &r.Calls, &r.Captured.Units, &r.Captured.Nano, &r.Refunded.Units, &r.Refunded.Nano)
		return r, err
	})
	if err != nil {
		return nil, err
	}
	if f.By == store.ByMonth {
		if rows, err = months(rows); err != nil {
			return nil, err
		}
	}
	return rows, l.stillKept(ctx, f.Service, bounds)
}

// months sums the revenue of days into the revenue of months. The name of a day is its number, counted from 1970-01-01.
func months(days []store.Revenue) ([]store.Revenue, error) {
	sums := map[[2]string]store.Revenue{}
	for _, d := range days {
		n, err := strconv.ParseInt(d.Name, 10, 64)
		if err != nil {
			return nil, engine.Unavailable(err)
		}
		month := time.Unix(0, 0).UTC().AddDate(0, 0, int(n)).Format("2006-01")
		m := sums[[2]string{month, d.Currency}]
		m.Name, m.Currency, m.Calls = month, d.Currency, m.Calls+d.Calls
		m.Captured, m.Refunded = m.Captured.Plus(d.Captured), m.Refunded.Plus(d.Refunded)
		sums[[2]string{month, d.Currency}] = m
	}
	out := make([]store.Revenue, 0, len(sums))
	for _, m := range sums {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b store.Revenue) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Currency, b.Currency))
	})
	return out, nil
}
