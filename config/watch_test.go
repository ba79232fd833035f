package config_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
)

// watching runs a Watch and returns a channel that receives each reported change.
func watching(t *testing.T, since config.FileStates, files ...string) <-chan struct{} {
	t.Helper()
	w, err := config.NewWatch(files, since)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	changes, done := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx, func() { changes <- struct{}{} })
	}()
	t.Cleanup(func() { cancel(); <-done })
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

func reported(t *testing.T, changes <-chan struct{}) {
	t.Helper()
	select {
	case <-changes:
	case <-time.After(20 * time.Second):
		t.Fatal("the change was not reported")
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
			changes := watching(t, nil, path)
			change(7)
			reported(t, changes)
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
	changes := watching(t, nil, path)
	for _, name := range []string{"..2", "..3"} { // the second swap is only reported if the Watch followed the first
		version(name, "next")
		swap(name)
		reported(t, changes)
	}
}

func TestWatchReportsNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "late.json")
	changes := watching(t, nil, path)
	write(t, path, "here")
	reported(t, changes)
}

// If a link points to a file in another directory, Watch must watch that directory.
func TestWatchFollowsLinkTarget(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	write(t, filepath.Join(there, "real.yaml"), "x")
	path := filepath.Join(here, "uimgate.yaml")
	must(t, os.Symlink(filepath.Join(there, "real.yaml"), path))
	changes := watching(t, nil, path)
	write(t, filepath.Join(there, "real.yaml"), "longer")
	reported(t, changes)
}

func TestWatchIgnoresOtherFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "uimgate.yaml")
	write(t, path, "x")
	changes := watching(t, nil, path)
	write(t, filepath.Join(dir, "state.db"), "y")
	select {
	case <-changes:
		t.Fatal("a change of another file was reported")
	case <-time.After(time.Second):
	}
	write(t, path, "longer")
	reported(t, changes)
}

// A file that changes after it was read and before the Watch begins is reported.
func TestWatchReportsEarlierChanges(t *testing.T) {
	dir := directory(t)
	for _, name := range []string{"uimgate.yaml", "policy.json"} {
		c := mustLoad(t, dir, five, config.Overrides{})
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		must(t, err)
		write(t, path, string(text)+"\n")
		reported(t, watching(t, c.States(), c.Files()...))
	}
}

func TestWatchStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w, err := config.NewWatch([]string{"none"}, nil)
	must(t, err)
	w.Run(ctx, func() { t.Error("reported a change") })
}
