package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

// A column shows one field of a record: exactly for programs (csv), and for people in other words where they differ.
type column[T any] struct {
	name  string
	exact func(T) string
	human func(T) string // nil: exact
	wide  bool           // only in csv
}

// textColumn is a column of texts.
func textColumn[T any, S ~string](name string, of func(T) S) column[T] {
	return column[T]{name: name, exact: func(r T) string { return string(of(r)) }}
}

// listColumn is a column of texts with spaces between.
func listColumn[T any, S ~string](name string, of func(T) []S) column[T] {
	return column[T]{name: name, exact: func(r T) string {
		var b strings.Builder
		for i, s := range of(r) {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(string(s))
		}
		return b.String()
	}}
}

// countColumn is a column of numbers.
func countColumn[T any](name string, of func(T) int64) column[T] {
	return column[T]{name: name, exact: func(r T) string { return strconv.FormatInt(of(r), 10) }}
}

// flagColumn is a column of yes and no; true and false for programs.
func flagColumn[T any](name string, of func(T) bool) column[T] {
	return column[T]{name: name, exact: func(r T) string { return strconv.FormatBool(of(r)) }, human: func(r T) string {
		if of(r) {
			return "yes"
		}
		return "no"
	}}
}

// timeColumn is a column of times: RFC 3339 in UTC for programs, the operator's clock for people.
func timeColumn[T any](name string, of func(T) time.Time) column[T] {
	return column[T]{name: name, exact: func(r T) string { return exactTime(of(r)) }, human: func(r T) string { return humanTime(of(r)) }}
}

// forPeople shows a column to people in other words.
func (c column[T]) forPeople(human func(T) string) column[T] {
	c.human = human
	return c
}

// onlyCSV leaves a column out of tables.
func (c column[T]) onlyCSV() column[T] {
	c.wide = true
	return c
}

func (c column[T]) show(r T) string {
	if c.human != nil {
		return c.human(r)
	}
	return c.exact(r)
}

func (o *operator) checkFormat() error {
	switch o.format {
	case "table", "json", "csv":
		return nil
	default:
		return usageError{errors.New("--output must be table, json or csv")}
	}
}

// printOne prints one record.
func printOne[T any](c *cobra.Command, o *operator, record T, columns []column[T]) error {
	switch o.format {
	case "json":
		return printLine(c.OutOrStdout(), record)
	case "csv":
		return printCSV(c.OutOrStdout(), []T{record}, columns, true)
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, col := range columns {
		if value := col.show(record); value != "" {
			fmt.Fprintf(w, "%s\t%s\n", col.name, sanitize(value))
		}
	}
	return w.Flush()
}

// printLine prints one line of JSON.
func printLine(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(v)
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
			row[i] = csvText(col.exact(r))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// csvText returns a text as a cell of CSV. A spreadsheet takes one that begins with = + - @, a tab or CR for a formula, and
// agents choose such texts: a quotation mark before it makes it text. Numbers stay numbers.
func csvText(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r\n", rune(s[0])) {
		return s
	}
	if number := strings.TrimPrefix(s, "-"); number != s && number != "" && strings.Trim(number, "0123456789.") == "" {
		return s
	}
	return "'" + s
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
			value := sanitize(col.show(r))
			if value == "" {
				value = "-"
			}
			row = append(row, value)
		}
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}

// sanitize replaces characters with which a text of agents and others could control the operator's terminal.
func sanitize[S ~string](s S) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, string(s))
}

// shellQuote quotes a text for a shell.
func shellQuote(s string) string {
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

// ask asks a question, and reports whether the answer is y or yes; without one it is no.
func ask(c *cobra.Command, question string) (bool, error) {
	fmt.Fprint(c.ErrOrStderr(), question+" [y/N] ")
	answer, err := bufio.NewReader(io.LimitReader(c.InOrStdin(), 64)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

func printJSON(w io.Writer, data any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(data)
}
