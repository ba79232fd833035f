//go:build unix

package privatefile

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A command with the output /dev/stdout writes there, and does not replace the device.
func TestStreamWritesIntoAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, Mode); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		data, _ := os.ReadFile(path)
		got <- string(data)
	}()
	if err := Stream(path, func(w io.Writer) error { _, err := io.WriteString(w, "data"); return err }); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "data" {
		t.Errorf("the pipe transmitted %q", text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
		t.Errorf("%v, %v: want the pipe", info.Mode(), err)
	}
}
