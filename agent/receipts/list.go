package receipts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/pat"
)

// A Line is a charged call in a list.
type Line struct {
	At        time.Time          `json:"at"`
	Execution string             `json:"id"`
	Intent    string             `json:"intent"`
	Amount    string             `json:"amount"`
	State     string             `json:"state"` // as the receipt or, if there is none, UIM-Charge states it
	Replayed  bool               `json:"replayed,omitempty"`
	K         *int64             `json:"k"` // number of the entry; nil if there is no receipt
	Problems  []evidence.Problem `json:"problems"`
}

// Lines returns the charged calls of a period in the order of time. It does not verify their receipts. Errors are those of Records.
func (b *Book) Lines(p Period) ([]Line, error) {
	list := []Line{}
	err := b.Records(func(r Record) {
		if r.Type != typeCall || r.Call == nil || !p.has(r.At) {
			return
		}
		c := r.Call
		line := Line{
			At: r.At, Execution: c.Execution, Intent: c.Intent, Amount: c.Amount.String(), State: c.State, Replayed: c.Replayed,
			Problems: append([]evidence.Problem{}, r.Problems...),
		}
		if receipt, err := evidence.ParseReceipt(r.Receipt); err == nil {
			line.K, line.State = &receipt.Entry.K, receipt.Entry.To
		}
		list = append(list, line)
	}, func(string, int) {})
	return list, err
}

// Books returns the books in a directory, ordered by name. A directory that does not exist has none. forms are those of Open.
func Books(dir string, forms ...pat.Form) ([]*Book, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrBook, err)
	}
	var list []*Book
	for _, entry := range entries {
		name, is := strings.CutSuffix(entry.Name(), Extension)
		if is && !older(name) {
			list = append(list, Open(filepath.Join(dir, entry.Name()), forms...))
		}
	}
	return list, nil
}

// older reports whether a file name without its extension is that of a file with earlier records.
func older(name string) bool {
	for n := 1; n < maxFiles; n++ {
		if strings.HasSuffix(name, fmt.Sprint(".", n)) {
			return true
		}
	}
	return false
}
