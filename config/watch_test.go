package config_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
)

// watching runs Watch and returns a channel that receives each reported change.
func watching(t *testing.T, files ...string) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	changes, done := make(chan struct{}, 100), make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		close(ready)
		done <- config.Watch(ctx, files, func() { changes <- struct{}{} })
	}()
	<-ready
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return changes
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// until repeats change until it is reported, because Watch may not have started yet.
func until(t *testing.T, changes <-chan struct{}, change func(n int)) {
	t.Helper()
	for n := 0; ; n++ {
		change(n)
		select {
		case <-changes:
			return
		case <-t.Context().Done():
			t.Fatal("the change was not reported")
		case <-time.After(time.Second):
		}
	}
}

func TestWatchReportsChanges(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "uimgate.yaml")
	text := func(n int) string { return string(make([]byte, n+1)) }
	for name, change := range map[string]func(n int){
		"written in place": func(n int) { write(t, path, text(n)) },
		"replaced by renaming": func(n int) {
			write(t, path+".new", text(n))
			must(t, os.Rename(path+".new", path))
		},
		"removed and made again": func(n int) {
			must(t, os.Remove(path))
			write(t, path, text(n))
		},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, path, "start")
			until(t, watching(t, path), change)
		})
	}
}

// Kubernetes mounts a ConfigMap as links through ..data, and updates it by replacing that link.
func TestWatchFollowsSwappedLinks(t *testing.T) {
	dir := t.TempDir()
	version := func(name, text string) {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
		write(t, filepath.Join(dir, name, "uimgate.yaml"), text)
	}
	swap := func(to string) {
		must(t, os.Symlink(to, filepath.Join(dir, "..tmp")), os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
	}
	version("..1", "one")
	swap("..1")
	path := filepath.Join(dir, "uimgate.yaml")
	must(t, os.Symlink(filepath.Join("..data", "uimgate.yaml"), path))
	changes := watching(t, path)
	for round := range 2 { // the second swap is only reported if Watch followed the first
		until(t, changes, func(n int) {
			name := filepath.Join("..v" + string(rune('a'+round)) + string(rune('a'+n%26)))
			version(name, "next")
			swap(name)
		})
	}
}

func TestWatchReportsNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "late.json")
	until(t, watching(t, path), func(int) { write(t, path, "here") })
}

// If a link points to a file in another directory, Watch must watch that directory.
func TestWatchFollowsLinkTarget(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	write(t, filepath.Join(there, "real.yaml"), "x")
	path := filepath.Join(here, "uimgate.yaml")
	must(t, os.Symlink(filepath.Join(there, "real.yaml"), path))
	until(t, watching(t, path), func(n int) { write(t, filepath.Join(there, "real.yaml"), string(make([]byte, n+2))) })
}

func TestWatchIgnoresOtherFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "uimgate.yaml")
	write(t, path, "x")
	changes := watching(t, path)
	for range 3 {
		write(t, filepath.Join(dir, "state.db"), "y")
		select {
		case <-changes:
			t.Fatal("a change of another file was reported")
		case <-time.After(time.Second):
		}
	}
	until(t, changes, func(n int) { write(t, path, string(make([]byte, n+2))) })
}

func TestWatchStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := config.Watch(ctx, []string{"none"}, func() { t.Error("told") }); err != nil {
		t.Error(err)
	}
}
