// Package chromiumtest finds the browser that some tests drive, and has its flags.
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

// Flags returns the flags of the browser in all tests: --NAME or --NAME=VALUE. The caller adds those that its test needs, such as
// --user-data-dir.
func Flags() []string {
	return []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-extensions", "--disable-sync", "--disable-default-apps",
		"--lang=en-GB", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
		// Each page is loaded once, so the browser need not keep the pages that a tab has left, nor optimize their scripts. Each test has its
		// own cookies, so sites need no processes of their own.
		"--disable-features=Translate,BackForwardCache,RenderDocument",
		"--disable-site-isolation-trials", "--renderer-process-limit=1", "--js-flags=--single-threaded,--no-turbofan,--no-maglev",
	}
}
