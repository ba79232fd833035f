package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/gateway/admin"
)

// A column shows one field of a record: exactly for programs (csv), and, if told, in other words for people.
type column[T any] struct {
	name  string
	exact func(T) string
	human func(T) string // nil: exact
	wide  bool           // only in csv
}

func (o *operator) checkFormat() error {
	switch o.format {
	case "table", "json", "csv":
		return nil
	default:
		return usageError{errors.New("--output must be table, json or csv")}
	}
}

// printListing asks for a listing and prints it on stdout, with --all page after page, and on stderr how to get what is left.
func printListing[T any](c *cobra.Command, o *operator, path string, query url.Values, columns []column[T]) error {
	return printRows(c, o, path, query, columns, func(r T) []T { return []T{r} })
}

// printRows does it where a record is several rows of a table, or of CSV. Only tables and JSON gather all pages first.
func printRows[T, R any](c *cobra.Command, o *operator, path string, query url.Values, columns []column[R], rows func(T) []R) error {
	var gathered admin.Page[T]
	var table []R
	for first := true; ; first = false {
		data, err := o.get(c, path, query)
		if err != nil {
			return err
		}
		var page admin.Page[T]
		if err := json.Unmarshal(data, &page); err != nil {
			return errNotOurs(err)
		}
		var more []R
		for _, record := range page.Items {
			more = append(more, rows(record)...)
		}
		if o.format == "csv" {
			if err := printCSV(c.OutOrStdout(), more, columns, first); err != nil {
				return err
			}
		} else {
			table = append(table, more...)
			gathered.Items = append(gathered.Items, page.Items...)
		}
		if first && len(page.Items) == 0 {
			fmt.Fprintln(c.ErrOrStderr(), "None.")
		}
		if gathered.Next = page.Next; page.Next == "" || !o.all {
			break
		}
		query.Set("after", page.Next)
	}
	if gathered.Next != "" {
		fmt.Fprintf(c.ErrOrStderr(), "There may be more: --after %s, or --all\n", plain(quoted(gathered.Next)))
	}
	switch o.format {
	case "csv":
		return nil
	case "table":
		return printTable(c.OutOrStdout(), table, columns)
	}
	if gathered.Items == nil {
		gathered.Items = []T{}
	}
	out := json.NewEncoder(c.OutOrStdout())
	out.SetEscapeHTML(false)
	return out.Encode(gathered)
}

// printOne prints one record.
func printOne[T any](c *cobra.Command, o *operator, data []byte, columns []column[T]) error {
	var record T
	if err := json.Unmarshal(data, &record); err != nil {
		return errNotOurs(err)
	}
	if o.format != "table" {
		return printRecords(c.OutOrStdout(), o.format, data, []T{record}, columns)
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, col := range columns {
		if value := col.show(record); value != "" {
			fmt.Fprintf(w, "%s\t%s\n", col.name, plain(value))
		}
	}
	return w.Flush()
}

func errNotOurs(err error) error {
	return fmt.Errorf("the answer is not one of this version of uimgate: %w", err)
}

func printRecords[T any](w io.Writer, format string, data []byte, records []T, columns []column[T]) error {
	switch format {
	case "json":
		_, err := w.Write(append([]byte(strings.TrimRight(string(data), "\n")), '\n'))
		return err
	case "csv":
		return printCSV(w, records, columns, true)
	default:
		return printTable(w, records, columns)
	}
}

func printCSV[T any](w io.Writer, records []T, columns []column[T], header bool) error {
	out := csv.NewWriter(w)
	row := make([]string, len(columns))
	for i, col := range columns {
		row[i] = col.name
	}
	if header {
		if err := out.Write(row); err != nil {
			return err
		}
	}
	for _, r := range records {
		for i, col := range columns {
			row[i] = col.exact(r)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func printTable[T any](w io.Writer, records []T, columns []column[T]) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := make([]string, 0, len(columns))
	for _, col := range columns {
		if !col.wide {
			row = append(row, strings.ToUpper(strings.ReplaceAll(col.name, "_", " ")))
		}
	}
	fmt.Fprintln(out, strings.Join(row, "\t"))
	for _, r := range records {
		row = row[:0]
		for _, col := range columns {
			if col.wide {
				continue
			}
			value := plain(col.show(r))
			if value == "" {
				value = "-"
			}
			row = append(row, value)
		}
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}

func (c column[T]) show(r T) string {
	if c.human != nil {
		return c.human(r)
	}
	return c.exact(r)
}

// plain keeps what agents and others wrote from steering the operator's terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// quoted is a text as a shell takes it.
func quoted(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-:", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// exactTime is RFC 3339 in UTC; empty for none.
func exactTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// humanTime is the time as the operator's clock shows it.
func humanTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// humanAmount is a decimal with its currency.
func humanAmount(amount, currency string) string {
	if currency == "" {
		return "free"
	}
	return amount + " " + currency
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// timeColumn shows one time of a record.
func timeColumn[T any](name string, of func(T) time.Time, wide bool) column[T] {
	return column[T]{
		name: name, wide: wide,
		exact: func(r T) string { return exactTime(of(r)) },
		human: func(r T) string { return humanTime(of(r)) },
	}
}

func exactBool(b bool) string { return strconv.FormatBool(b) }

// joined are texts as one, with spaces between.
func joined[S ~string](list []S) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(s))
	}
	return b.String()
}
