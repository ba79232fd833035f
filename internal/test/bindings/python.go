package bindtest

import (
	"os"
	"os/exec"
	"testing"
)

// Python returns a Python 3 that has the package cryptography: the one in the path, or the system's. Where there is none the test is
// skipped, or fails with UIMGATE_REQUIRE_LANGUAGES=1.
func Python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), name, "-c", "import cryptography").Run() == nil {
			return name
		}
	}
	if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
		t.Fatal("Python 3 with cryptography is not installed")
	}
	t.Skip("Python 3 with cryptography is not installed")
	return ""
}
