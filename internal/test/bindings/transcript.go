package bindtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the responses into the transcripts, for review")

// Update reports whether a test must write its transcripts instead of comparing with them.
func Update() bool { return *update }

// Transcripts plays each transcript of a directory: it sends each file "send…" and compares the response with the file that follows. begin
// returns the function that sends, for one transcript.
func Transcripts(t *testing.T, dir string, begin func(*testing.T, *txtar.Archive) (answer func(sent string) string)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			answer := begin(t, archive)
			for i := 0; i+1 < len(archive.Files); i++ {
				send, receive := archive.Files[i], &archive.Files[i+1]
				if !strings.HasPrefix(send.Name, "send") {
					continue
				}
				got := answer(string(send.Data))
				if *update {
					receive.Data = []byte(got)
				} else if want := strings.TrimSpace(string(receive.Data)); strings.TrimSpace(got) != want {
					t.Errorf("%s %s:\n%s\nwant:\n%s", file, send.Name, got, want)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Show formats a response for a transcript: the status, the named header fields, and the body, with JSON and events indented.
func Show(status int, header http.Header, body []byte, names []string) string {
	var b strings.Builder
	fmt.Fprintln(&b, status)
	for _, name := range names {
		for _, value := range header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if len(body) > 0 {
		fmt.Fprintf(&b, "\n%s\n", pretty(body))
	}
	return b.String()
}

func pretty(body []byte) string {
	var out bytes.Buffer
	for i, event := range bytes.Split(bytes.TrimSpace(body), []byte("\n\n")) {
		if i > 0 {
			out.WriteString("\n\n")
		}
		document, streamed := bytes.CutPrefix(event, []byte("data: "))
		if streamed {
			out.WriteString("data: ")
		}
		if json.Indent(&out, document, "", "  ") != nil {
			return string(body)
		}
	}
	return out.String()
}
