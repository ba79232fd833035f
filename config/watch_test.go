package config_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
)

// watching runs Watch; each receive from the channel is one change reported.
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

// until does change again and again, in case Watch has not begun yet, until it is reported.
func until(t *testing.T, changes <-chan struct{}, change func(n int)) {
	t.Helper()
	for n := 0; ; n++ {
		change(n)
		select {
		case <-changes:
			return
		case <-t.Context().Done():
			t.Fatal("the change was not told")
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

// Kubernetes shows a ConfigMap as links through ..data, and changes it by swapping that one link.
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
	for round := range 2 { // the second swap only works if the first was followed
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

// Where the link points to a file elsewhere, it is that file's directory which has to be watched.
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
			t.Fatal("told of a file nobody asked about")
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
