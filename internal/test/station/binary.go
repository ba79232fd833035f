package station

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Binary builds the program uimgate, and returns its path. If UIMGATE_BINARY is set, it returns that path instead. Call it before New: it
// can take a minute, and the clock of a station does not advance.
func Binary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("UIMGATE_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "uimgate")
	// The build cache keeps the programs that go run links, not those of go build. cp gets the path of the program, and then the other one.
	c := exec.CommandContext(t.Context(), "go", "run", "-buildvcs=false", "-exec", "cp", "github.com/uimgate/uimgate/cmd/uimgate", path)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, out)
	}
	return path
}
