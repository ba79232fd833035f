// Package chromiumtest finds the browser that some tests drive.
package chromiumtest

import (
	"os"
	"os/exec"
	"testing"
)

// Path returns the path of Chromium. Without it, Path skips the test, or fails the test if UIMGATE_REQUIRE_BROWSER is 1.
func Path(tb testing.TB) string {
	tb.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("UIMGATE_REQUIRE_BROWSER") == "1" {
		tb.Fatal("UIMGATE_REQUIRE_BROWSER is 1, and Chromium is not installed")
	}
	tb.Skip("SKIPPED: Chromium is not installed, so no page was tried in a browser; UIMGATE_REQUIRE_BROWSER=1 makes this a failure")
	return ""
}
