package station

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Binary builds the program uimgate, and returns its path. If UIMGATE_BINARY is set, it returns that path instead.
func Binary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("UIMGATE_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "uimgate")
	c := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/uimgate/uimgate/cmd/uimgate")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}
