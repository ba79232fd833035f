package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/uimgate/uimgate/internal/lines"
)

// A Column prints one field of a record: Exact for programs (CSV), Human for people.
type Column[T any] struct {
	Name  string
	Exact func(T) string
	Human func(T) string // nil means that Exact is also used for people
	wide  bool           // PrintTable omits the column
}

// TextColumn returns a column of strings.
func TextColumn[T any, S ~string](name string, of func(T) S) Column[T] {
	return Column[T]{Name: name, Exact: func(r T) string { return string(of(r)) }}
}

// ListColumn returns a column of lists of strings. The strings of a list are separated by spaces.
func ListColumn[T any](name string, of func(T) []string) Column[T] {
	return Column[T]{Name: name, Exact: func(r T) string { return strings.Join(of(r), " ") }}
}

// TimeColumn returns a column of times: RFC 3339 in UTC for programs, local time for people.
func TimeColumn[T any](name string, of func(T) time.Time) Column[T] {
	return Column[T]{Name: name, Exact: func(r T) string { return ExactTime(of(r)) }, Human: func(r T) string { return HumanTime(of(r)) }}
}

// ForPeople returns the column with human as its Human function.
func (c Column[T]) ForPeople(human func(T) string) Column[T] {
	c.Human = human
	return c
}

func (c Column[T]) show(r T) string {
	if c.Human != nil {
		return c.Human(r)
	}
	return c.Exact(r)
}

// CheckFormat returns a UsageError unless the value of --output is table, json or csv.
func CheckFormat(format string) error {
	switch format {
	case "table", "json", "csv":
		return nil
	default:
		return UsageError{errors.New("--output must be table, json or csv")}
	}
}

// PrintOne prints one record in a format that CheckFormat accepts. The table has one line per field, and omits empty fields.
func PrintOne[T any](c *cobra.Command, format string, record T, columns []Column[T]) error {
	switch format {
	case "json":
		return PrintLine(c.OutOrStdout(), record)
	case "csv":
		return PrintCSV(c.OutOrStdout(), []T{record}, columns, true)
	}
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, col := range columns {
		if value := col.show(record); value != "" {
			fmt.Fprintf(w, "%s\t%s\n", col.Name, Sanitize(value))
		}
	}
	return w.Flush()
}

// Print prints whole as JSON, the records as CSV, or output for people. It calls people for the latter or, if people is nil,
// prints the records as a table.
func Print[T any](c *cobra.Command, format string, whole any, records []T, columns []Column[T], people func(io.Writer) error) error {
	switch out := c.OutOrStdout(); {
	case format == "json":
		return PrintLine(out, whole)
	case format == "csv":
		return PrintCSV(out, records, columns, true)
	case people != nil:
		return people(out)
	default:
		return PrintTable(out, records, columns)
	}
}

// PrintLine prints v as one line of JSON.
func PrintLine(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

// PrintCSV prints records as CSV (RFC 4180), with a line of column names if header is set. It converts each value with lines.CSV, so that
// no spreadsheet evaluates a value as a formula.
func PrintCSV[T any](w io.Writer, records []T, columns []Column[T], header bool) error {
	out := csv.NewWriter(w)
	row := make([]string, len(columns))
	for i, col := range columns {
		row[i] = col.Name
	}
	if header {
		if err := out.Write(row); err != nil {
			return err
		}
	}
	for _, r := range records {
		for i, col := range columns {
			row[i] = lines.CSV(col.Exact(r))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// PrintTable prints records as a table for people. It replaces non-printable characters (see Sanitize), and prints - for an empty value.
func PrintTable[T any](w io.Writer, records []T, columns []Column[T]) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := make([]string, 0, len(columns))
	for _, col := range columns {
		if !col.wide {
			row = append(row, strings.ToUpper(strings.ReplaceAll(col.Name, "_", " ")))
		}
	}
	fmt.Fprintln(out, strings.Join(row, "\t"))
	for _, r := range records {
		row = row[:0]
		for _, col := range columns {
			if col.wide {
				continue
			}
			value := Sanitize(col.show(r))
			if value == "" {
				value = "-"
			}
			row = append(row, value)
		}
		fmt.Fprintln(out, strings.Join(row, "\t"))
	}
	return out.Flush()
}

// Sanitize replaces non-printable characters except line feeds, so that text from others cannot control the operator's terminal.
func Sanitize[S ~string](s S) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, string(s))
}

// ShellQuote quotes s as one word for a POSIX shell, if s needs quotes.
func ShellQuote(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-:", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ExactTime formats t as RFC 3339 in UTC. It returns "" for the zero time.
func ExactTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// HumanTime formats t in the local time zone. It returns "" for the zero time.
func HumanTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// HumanAmount returns an amount with its currency, or "free" if there is no currency.
func HumanAmount(amount, currency string) string {
	if currency == "" {
		return "free"
	}
	return amount + " " + currency
}

// Ask asks a question on stderr, and reports whether the answer on stdin is y or yes. It returns false for any other answer, and if stdin
// ends.
func Ask(c *cobra.Command, question string) (bool, error) {
	fmt.Fprint(c.ErrOrStderr(), question+" [y/N] ")
	answer, err := bufio.NewReader(io.LimitReader(c.InOrStdin(), 64)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// IsTerminal reports whether a stream of a command is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// PrintJSON prints data as indented JSON.
func PrintJSON(w io.Writer, data any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(data)
}
