package bindtest

import (
	"os"
	"os/exec"
	"testing"
)

// Python returns a Python 3 with the package cryptography: the one in the path, or the system's. If there is none, it skips the test, or
// fails it if UIMGATE_REQUIRE_LANGUAGES is 1.
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
