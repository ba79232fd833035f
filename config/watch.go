package config

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settleTime = 250 * time.Millisecond // wait after an event before a change is reported
	settleMost = 8                      // events that restart the wait; further events do not
	pollEvery  = 30 * time.Second       // for file systems that send no events
	maxLinks   = 40                     // links followed in one path
)

// A Watch notices changes of files. It also notices files that editors replace by renaming, and symbolic links that are swapped, as
// Kubernetes does with a ConfigMap, because it watches the directories on the path.
//
// A Watch compares the files with their previous state after an event in one of their directories, and every 30 seconds.
type Watch struct {
	files  []string
	events *fsnotify.Watcher
	seen   FileStates
}

// FileStates are the states of files when they were read, by path. The state of a file that did not exist is nil.
type FileStates map[string]os.FileInfo

// NewWatch begins to watch files. Run also reports changes since the states in since. A file without a state in since is compared with its
// present state. No change is missed if since is from the Config that was read, or if the files are read after NewWatch has returned. An
// error means that the watch could not be set up. The caller must call Run.
func NewWatch(files []string, since FileStates) (*Watch, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching the configuration: %w", err)
	}
	w := &Watch{files: files, events: events, seen: FileStates{}}
	w.follow()
	w.changed()
	maps.Copy(w.seen, since)
	return w, nil
}

// Run calls onChange after any of the files has changed, until ctx is done. Calls of onChange do not overlap. Run reports changes in quick
// succession once, and changes during onChange after onChange has returned. So reload in onChange itself, and start a new Watch only for a
// different list of files.
func (w *Watch) Run(ctx context.Context, onChange func()) {
	defer func() { _ = w.events.Close() }()
	w.run(ctx, onChange)
}

func (w *Watch) run(ctx context.Context, onChange func()) {
	slow := time.NewTicker(pollEvery)
	defer slow.Stop()
	settle := time.NewTimer(settleTime) // the first comparison reports changes since the files were read
	defer settle.Stop()
	waiting := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-slow.C:
			settle.Reset(settleTime)
		case _, open := <-w.events.Errors: // an overflow: events were lost
			if !open {
				return
			}
			settle.Reset(settleTime)
		case <-w.events.Events:
			if waiting++; waiting <= settleMost {
				settle.Reset(settleTime)
			}
		case <-settle.C:
			waiting = 0
			w.follow()
			if w.changed() {
				onChange()
			}
		}
	}
}

// follow watches the directory of each file, and those of the links on its path. Polling finds directories that do not exist yet.
func (w *Watch) follow() {
	for _, file := range w.files {
		path := file
		for range maxLinks {
			_ = w.events.Add(filepath.Dir(path))
			next, ok := firstLink(path)
			if !ok {
				break
			}
			_ = w.events.Add(filepath.Dir(next.link))
			path = next.path
		}
	}
}

// A step is the result of following one link: link is the path of that link, and path is the followed path with the link replaced by its
// target.
type step struct{ link, path string }

// firstLink follows the symbolic link that is nearest to the end of path. It returns false if there is none, or if it cannot be read.
func firstLink(path string) (step, bool) {
	for at := path; ; {
		info, err := os.Lstat(at)
		if err == nil && info.Mode()&os.ModeSymlink != 0 {
			target, err := os.Readlink(at)
			if err != nil {
				return step{}, false
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(at), target)
			}
			rest, err := filepath.Rel(at, path)
			if err != nil {
				return step{}, false
			}
			return step{at, filepath.Join(target, rest)}, true
		}
		parent := filepath.Dir(at)
		if parent == at || parent == "." {
			return step{}, false
		}
		at = parent
	}
}

// changed compares the files with their previous state, stores the present state, and reports whether a file differs.
func (w *Watch) changed() bool {
	changed := false
	for _, path := range w.files {
		was, known := w.seen[path]
		is := fileState(path)
		same := known && (was == nil) == (is == nil)
		if same && is != nil {
			same = os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
		}
		w.seen[path] = is
		changed = changed || !same
	}
	return changed
}

// fileState returns the state of the file at path, following links, or nil if the file cannot be found.
func fileState(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}
