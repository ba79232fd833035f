package outbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/privatefile"
)

const (
	fileVersion = 1
	maxFile     = 4 << 20
)

var errUnchanged = errors.New("nothing has changed")

// ids matches the names of boxes and calls, which become parts of paths.
var ids = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// A file is the content of a box, oldest first.
type file struct {
	Version int     `json:"version"`
	Calls   []*Call `json:"calls"`
}

// read returns the content of the file at path, without the calls that are older than MaxAge. If the file does not exist, the content is
// empty.
func read(path string, now time.Time) (*file, error) {
	data, err := privatefile.Read(path, maxFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &file{Version: fileVersion}, nil
	case err != nil:
		return nil, fmt.Errorf("reading the calls in progress from %s: %w", path, err)
	}
	f := &file{}
	broken := json.Unmarshal(data, f) != nil || f.Version != fileVersion
	for _, c := range f.Calls {
		broken = broken || c == nil || !ids.MatchString(c.ID) || c.Owner != "" && !ids.MatchString(c.Owner)
	}
	if broken {
		return nil, fmt.Errorf("%s is damaged, so the calls in progress are unknown: repair the file, or remove it to start over", path)
	}
	f.Calls = slices.DeleteFunc(f.Calls, func(c *Call) bool { return now.Sub(c.Since) > MaxAge })
	return f, nil
}

func (f *file) write(path string) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = privatefile.Write(path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("storing the calls in progress: %w", err)
	}
	return nil
}

func (f *file) find(id string) *Call {
	if n := f.index(id); n >= 0 {
		return f.Calls[n]
	}
	return nil
}

func (f *file) remove(id string) {
	if n := f.index(id); n >= 0 {
		f.Calls = slices.Delete(f.Calls, n, n+1)
	}
}

func (f *file) index(id string) int {
	return slices.IndexFunc(f.Calls, func(c *Call) bool { return c.ID == id })
}
