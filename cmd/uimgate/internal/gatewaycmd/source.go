package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/fetch"
)

// read reads the document from a file, or fetches it from a URL and sets Source to the final URL.
func (s *initSettings) read(ctx context.Context) ([]byte, error) {
	if s.tools.isSet() {
		return s.tools.document(ctx, s.options.Namespace)
	}
	if !strings.HasPrefix(s.document, "https://") && !strings.HasPrefix(s.document, "http://") {
		return cli.ReadNamed(s.document, read.MaxDocument)
	}
	client := fetch.New(fetch.Options{UserAgent: "uimgate-init", Timeout: initTime})
	defer client.Close()
	if s.refs != "" {
		return nil, cli.Usage(errors.New("--refs requires a document in a file: references of a fetched document cannot read files"))
	}
	answer, err := client.Get(ctx, s.document, fetch.Document{
		Accept: "application/vnd.oai.openapi+json, application/json, application/yaml;q=0.9, */*;q=0.5", Max: read.MaxDocument,
	})
	if err != nil {
		return nil, fmt.Errorf("the document cannot be fetched: %w", err)
	}
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("the document cannot be fetched: %s responded with status %d", fetch.Origin(answer.URL), answer.Status)
	}
	s.options.Source = answer.URL
	return answer.Body, nil
}

// openRefs opens the directory with the files that the document may refer to. Neither names nor symbolic links can lead out of this
// directory. The caller must close it.
func (s *initSettings) openRefs() (*os.Root, error) {
	dir := s.refs
	if dir == "" {
		dir = filepath.Dir(s.document)
	}
	from, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	to, err := filepath.Abs(s.document)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(from, to)
	if err != nil || !filepath.IsLocal(name) {
		return nil, cli.Usage(fmt.Errorf("--refs %s: the document %s is not in or below this directory", s.refs, s.document))
	}
	top, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s.options.Files, s.options.Name = top.FS(), filepath.ToSlash(name)
	return top, nil
}

// shownSource returns the file or URL of the document. It omits the query of a URL, which may contain a key.
func shownSource(document string) string {
	if u, err := url.Parse(document); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host + u.EscapedPath()
	}
	return document
}

// maxPicks is the maximum size of a file of picks, in bytes.
const maxPicks = 1 << 20

// readPicks reads one operation per line from a file, or from stdin if path is -. A # at the beginning of a line or after white space
// begins a comment.
func readPicks(path string, stdin io.Reader) ([]string, error) {
	var data []byte
	var err error
	if path == "-" {
		if data, err = io.ReadAll(io.LimitReader(stdin, maxPicks+1)); len(data) > maxPicks {
			err = fmt.Errorf("the list of operations on stdin is longer than %d bytes", maxPicks)
		}
	} else {
		data, err = cli.ReadNamed(path, maxPicks)
	}
	if err != nil {
		return nil, err
	}
	out := []string{}
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) { // some editors begin a file with a byte order mark
		if i := strings.IndexByte(line, '#'); i == 0 || i > 0 && (line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
		}
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out, nil
}
