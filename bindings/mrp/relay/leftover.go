package relay

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
)

// A killed process leaves files: an unfinished upload, a blob whose record was not yet made, or one whose record was already deleted.
// They have no owner, and are deleted.
const (
	// abandoned is the age at which a file without an owner is deleted: an upload takes much less time, and its record follows
	// immediately.
	abandoned = time.Hour
	// cleanAfter is the delay of the first cleaning, so that a relay that was started with the wrong database has not yet deleted
	// anything.
	cleanAfter = 10 * time.Minute
	cleanEvery = time.Hour
	cleanStep  = 256 // files at a time: a directory may have millions
)

// clean deletes files without owners from time to time, until ctx ends.
func (r *Relay) clean(ctx context.Context) {
	next := time.NewTimer(cleanAfter)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		r.cleanOnce(ctx)
		next.Reset(cleanEvery)
	}
}

func (r *Relay) cleanOnce(ctx context.Context) {
	n, err := r.blobs.clean(r.now().Add(-abandoned), func(ids []string) ([]string, error) { return r.store.UnknownBlobs(ctx, ids) })
	if n > 0 {
		r.log.Info("files that an end had left over were deleted", zap.Int("files", n))
	}
	if err != nil && ctx.Err() == nil {
		r.log.Warn("files that are left over could not be looked for", zap.Error(err))
	}
}

// clean deletes files without an owner that were last written before a time: unfinished uploads, and files of unknown ids. It returns
// their number.
func (b *blobs) clean(before time.Time, unknown func(ids []string) ([]string, error)) (deleted int, err error) {
	d, err := os.Open(b.dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	for {
		list, err := d.ReadDir(cleanStep)
		var ids, left []string
		for _, e := range list {
			info, err := e.Info()
			switch {
			case err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before):
			case id.MatchString(e.Name()):
				ids = append(ids, e.Name())
			case strings.HasPrefix(e.Name(), incoming):
				left = append(left, e.Name())
			}
		}
		if len(ids) > 0 {
			ids, err := unknown(ids)
			if err != nil {
				return deleted, err
			}
			left = append(left, ids...)
		}
		for _, name := range left {
			if os.Remove(filepath.Join(b.dir, name)) == nil {
				deleted++
			}
		}
		if errors.Is(err, io.EOF) {
			return deleted, nil
		}
		if err != nil {
			return deleted, err
		}
	}
}
