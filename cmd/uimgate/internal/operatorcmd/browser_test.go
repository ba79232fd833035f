package operatorcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestTheLinkIsNotInACommandLine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test replaces xdg-open")
	}
	home, bin, seen := t.TempDir(), t.TempDir(), t.TempDir()
	program := "#!/bin/sh\necho \"$0 $*\" > " + seen + "/line\nstat -c %a \"$1\" \"$(dirname \"$1\")\" > " + seen + "/modes\n" +
		"cat \"$1\" > " + seen + "/page\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("DISPLAY", ":0")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	openBrowser(t.Context(), "http://127.0.0.1:8081/console/link?code=canary&a=%22", 0, &out)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(seen, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if line := read("line"); strings.Contains(line, "canary") {
		t.Errorf("the command line is %q", line)
	}
	if modes := read("modes"); modes != "600\n700\n" {
		t.Errorf("the modes of the page and its directory are %q", modes)
	}
	if page := read("page"); !strings.Contains(page, `content="0;url=http://127.0.0.1:8081/console/link?code=canary&amp;a=%22"`) {
		t.Errorf("the page is %q", page)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if out.Len() != 0 {
		t.Errorf("it reported %q", out.String())
	}

	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	openBrowser(t.Context(), "http://127.0.0.1:8081/console/link?code=canary", 0, &out)
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 || !strings.Contains(out.String(), "open the link yourself") {
		t.Errorf("after a failure: %v, %v, %q", left, err, out.String())
	}
}
