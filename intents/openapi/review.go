package openapi

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/uimgate/uimgate/intents/openapi/read"
)

// Review writes a table of all operations, sorted by path, for people who choose among the operations. live are the terms under the policy
// in use, by UID; it may be nil. The costs of an intent are those of this policy, with the price in the curation if it differs.
func (i *Import) Review(out io.Writer, live map[string]Terms) error {
	all := slices.Clone(i.Reviewed)
	path := func(r ReviewItem) string { _, p, _ := strings.Cut(r.Operation, " "); return p }
	slices.SortStableFunc(all, func(a, b ReviewItem) int {
		return cmp.Or(cmp.Compare(path(a), path(b)), cmp.Compare(a.Operation, b.Operation))
	})
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OPERATION\tNAME\tINTENT\tDOES\tNOW\tCOSTS\tFINDINGS")
	for _, r := range all {
		does, now, costs, uid := "writes", "hidden", "free", r.UID
		if r.Reads {
			does = "reads"
		}
		switch {
		case r.UID == "":
			now, uid = "cannot be offered", "-"
		case r.Offered:
			now = "offered"
		}
		if r.Price != "" {
			costs = r.Price
		}
		if now, is := live[r.UID]; is && r.Offered {
			costs = liveCosts(now, costs)
		}
		name := r.ID
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Operation, name, uid, does, now, costs, shortFindings(r))
	}
	return w.Flush()
}

// liveCosts describes the costs of an intent under the policy in use. curated are those in the curation.
func liveCosts(now Terms, curated string) string {
	costs := "free"
	switch {
	case !now.Permitted:
		return "not permitted"
	case !now.Certain:
		costs = "depends"
	case !now.Price.IsZero():
		costs = now.Price.String()
	}
	if now.Certain && costs != curated {
		costs += " (curation: " + curated + ")"
	}
	return costs
}

// shortFindings returns the reason why an operation cannot be offered, or the first of its findings and their number.
func shortFindings(r ReviewItem) string {
	const most = 100
	switch len(r.Findings) {
	case 0:
		return "-"
	case 1:
		return read.Line(r.Findings[0], most)
	default:
		return fmt.Sprintf("%d: %s; …", len(r.Findings), read.Line(r.Findings[0], most))
	}
}
